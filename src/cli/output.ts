import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { ContentBlock, ResourceContents } from '../protocol/types.ts';
import { ExitCode, Failure } from './failure.ts';
import { fileProblem } from '../base/file-problem.ts';
import { printable, printableLine } from '../base/printable.ts';
import { waitFor } from '../base/wait.ts';
import { shown } from './print-status.ts';
import { isReaderGone } from './reader-gone.ts';
import { bytes, oneLine, wordsOf } from './screen.ts';
import { endSignal } from './shutdown.ts';
import { table } from './table.ts';

export interface OutputFlags {
  /** Results as JSON, and nothing else on stdout. */
  readonly json?: boolean;
  /** The file for binary content; `-` is stdout. Default: none; only its size and type are printed. */
  readonly output?: string;
}

/** The colours of the lines of a diff, by their first character. */
const STYLES: Record<string, 'green' | 'red' | 'cyan'> = { '+': 'green', '-': 'red', '@': 'cyan' };

/** Where a command prints. */
export type Stdout = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The output of a command, for users or for programs. */
export class Output {
  readonly json: boolean;
  readonly #file: string | undefined;
  readonly #stdout: Stdout;
  #files = 0;

  constructor({ json = false, output }: OutputFlags, stdout: Stdout = process.stdout) {
    this.json = json;
    this.#file = output;
    this.#stdout = stdout;
  }

  /** Writes text and ends its line. On a terminal, control characters are made visible. Resolves when it is written. */
  text(value: unknown): Promise<void> {
    const text = wordsOf(value);
    const safe = this.#stdout.isTTY ? printable(text) : text;
    return this.#write(safe === '' || safe.endsWith('\n') ? safe : `${safe}\n`);
  }

  /** Writes a value on one line, with escapes, for output that is read line by line. */
  line(value: unknown): Promise<void> {
    return this.#write(`${printableLine(wordsOf(value))}\n`);
  }

  /**
   * Writes any JSON, without characters that control a terminal: over several lines, or on one line for a list of
   * values.
   */
  value(value: unknown, { line = false } = {}): Promise<void> {
    return this.#write(`${printable(JSON.stringify(value, undefined, line ? undefined : 2))}\n`);
  }

  /** Writes the lines of a unified diff, without secrets. On a terminal, added and removed lines have colours. */
  diff(lines: readonly string[]): Promise<void> {
    const coloured = this.#stdout.isTTY && !process.env['NO_COLOR'];
    const styled = lines.map((line) => {
      const text = shown(line);
      const style = /^(?:---|\+\+\+)/.test(line) ? 'bold' : STYLES[line[0]!];
      return coloured && style ? styleText(style, text, { validateStream: false }) : text;
    });
    return this.#write(`${styled.join('\n')}\n`);
  }

  table(rows: readonly (readonly unknown[])[]): Promise<void> {
    return this.#write(table(rows, this.#stdout.isTTY ? this.#stdout.columns || undefined : undefined));
  }

  /** One content block of a tool result or of a prompt. */
  async block(block: ContentBlock): Promise<void> {
    switch (block.type) {
      case 'text':
        return this.text(block.text);
      case 'image':
      case 'audio':
        return this.#binary(block.data, block.mimeType);
      case 'resource':
        return this.contents(block.resource, { save: false });
      case 'resource_link': {
        const more = [block.title ?? block.name, block.mimeType, Number.isFinite(block.size) ? bytes(block.size!) : ''];
        const details = more.map(wordsOf).filter(Boolean).join(', ');
        return this.text(`[link to ${oneLine(block.uri)}: ${oneLine(details)}]`);
      }
      default:
        return this.text(`[${JSON.stringify(block)}]`);
    }
  }

  /** @param save whether text is also written to the file, if one was named. */
  async contents(contents: ResourceContents, { save }: { save: boolean }): Promise<void> {
    if ('text' in contents) {
      return save && this.#file !== undefined
        ? this.#save(Buffer.from(contents.text), contents.mimeType ?? 'text')
        : this.text(contents.text);
    }
    return this.#binary(contents.blob, contents.mimeType ?? 'application/octet-stream');
  }

  #binary(base64: string, mimeType: string): Promise<void> {
    const data = Buffer.from(base64, 'base64');
    if (this.#file !== undefined) return this.#save(data, mimeType);
    return this.text(`[${oneLine(mimeType)}, ${bytes(data.length)}]`);
  }

  async #save(data: Buffer, mimeType: string): Promise<void> {
    if (this.#file === '-') {
      if (!this.#stdout.isTTY) return this.#write(data);
      throw new Failure(
        ExitCode.Refused,
        `${mimeType} cannot be written to a terminal: add --output with a file, or redirect stdout`,
      );
    }
    this.#files += 1;
    const file = numbered(this.#file!, this.#files);
    try {
      await writeFile(file, data);
    } catch (error) {
      throw new Failure(ExitCode.Refused, `cannot write ${file}: ${fileProblem(error)}`, { cause: error });
    }
    return this.text(`[${oneLine(mimeType)}, ${bytes(data.length)}, written to ${file}]`);
  }

  /** A reader that does not read must not keep the process, so the wait ends with the process. */
  #write(data: string | Buffer): Promise<void> {
    const written = new Promise<void>((resolve, reject) => {
      this.#stdout.write(data, (error) => {
        if (!error || isReaderGone(error)) return resolve();
        reject(new Failure(ExitCode.Refused, `cannot write the output: ${fileProblem(error)}`, { cause: error }));
      });
    });
    return waitFor(written, { signal: endSignal });
  }
}

/** `image.png`, `image-2.png`, `image-3.png`. */
function numbered(file: string, number: number): string {
  if (number === 1) return file;
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}-${number}${ext}`);
}
