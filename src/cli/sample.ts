import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { SampleParams, SampleResult, SamplingContent } from '../protocol/sampling.ts';
import { agrees, type Prompter } from './prompter.ts';
import { shortText } from '../base/short-text.ts';
import { MAX_TEXT } from './print-status.ts';
import { bytes, indented, oneLine, wordsOf } from './screen.ts';

/** The error code if the user refuses (2025-11-25, client/sampling: Error Handling). */
const REJECTED = -1;

/**
 * Shows the user a sampling request, and lets the user answer instead of a model. A line with a single dot ends the
 * answer.
 *
 * @throws RpcError −1 if the user refuses; the signal's reason if it fires first.
 */
export async function answerByHand(
  prompter: Prompter,
  server: string,
  params: SampleParams,
  signal: AbortSignal,
): Promise<SampleResult> {
  if (!Array.isArray(params.messages)) {
    throw new RpcError(ErrorCode.InvalidParams, 'sampling/createMessage needs a list of messages');
  }
  prompter.print(`${oneLine(server)} asks for a model's answer (at most ${oneLine(params.maxTokens)} tokens):`);
  prompter.print(startOf(params));
  const agreed = await agrees(prompter, 'Answer in place of the model?', false, signal);
  if (agreed !== true) throw rejected();
  prompter.print('Write the answer, then a line with a single dot.');
  const lines: string[] = [];
  for (;;) {
    const line = await prompter.ask('> ', signal);
    if (line === undefined) throw rejected();
    if (line === '.') break;
    lines.push(line);
  }
  const content = { type: 'text' as const, text: lines.join('\n') };
  return { role: 'assistant', content, model: 'a person', stopReason: 'endTurn' };
}

function rejected(): RpcError {
  return new RpcError(REJECTED, 'User rejected sampling request');
}

/** The system prompt and the messages, cut at 65,536 characters. */
function startOf(params: SampleParams): string {
  const shown: string[] = [];
  let left = MAX_TEXT;
  for (const [label, text] of textsOf(params)) {
    if (left <= 0) {
      shown.push('  …');
      break;
    }
    shown.push(label + indented(shortText(text, left)));
    left -= label.length + text.length;
  }
  return shown.join('\n');
}

function* textsOf({ systemPrompt, messages }: SampleParams): Iterable<readonly [label: string, text: string]> {
  if (typeof systemPrompt === 'string') yield ['  system: ', systemPrompt];
  for (const { role, content } of messages) {
    let label = `  ${oneLine(role)}: `;
    for (const part of Array.isArray(content) ? content : [content]) {
      yield [label, textOf(part)];
      label = '    ';
    }
  }
}

function textOf(part: SamplingContent): string {
  switch (part.type) {
    case 'text':
      return wordsOf(part.text);
    case 'image':
    case 'audio':
      return `[${oneLine(part.mimeType)}, ${bytes(Buffer.byteLength(part.data, 'base64'))}]`;
    default:
      return JSON.stringify(part);
  }
}
