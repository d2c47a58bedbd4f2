import { PassThrough, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import type { LogMessage } from '../client/handlers.ts';
import { logLine, Terminal } from './terminal.ts';

class Screen extends Writable {
  readonly columns = 80;
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.text += chunk.toString();
    callback();
  }
}

const { signal } = new AbortController();
const open: Terminal[] = [];

function terminalOf(isTTY = true): { terminal: Terminal; keys: PassThrough; screen: Screen } {
  const keys = Object.assign(new PassThrough(), { isTTY, setRawMode: () => {} }) as unknown as PassThrough & {
    isTTY: boolean;
  };
  const screen = new Screen(isTTY);
  const terminal = new Terminal(keys, screen);
  open.push(terminal);
  return { terminal, keys, screen };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  for (const terminal of open.splice(0)) terminal.close();
});

describe('a user', () => {
  test('is present if stdin and stderr are terminals', () => {
    expect(terminalOf(true).terminal.interactive).toBe(true);
    expect(terminalOf(false).terminal.interactive).toBe(false);
  });

  test('is asked for lines, and lines typed earlier are used first', async () => {
    const { terminal, keys, screen } = terminalOf();
    const first = terminal.ask('Name: ', signal);
    keys.write('Ada\rnext\r');
    expect(await first).toBe('Ada');
    expect(screen.text).toContain('Name: ');
    expect(await terminal.ask('More: ', signal)).toBe('next');
  });

  test('sees the server’s text, without control characters', () => {
    const { terminal, screen } = terminalOf();
    terminal.print('a \u001b]8;;https://bad.example\u0007link\u202e');
    void terminal.ask('b\u009b2J: ', signal).catch(() => {});
    expect(screen.text).toContain('a \\u001b]8;;https://bad.example\\u0007link\\u202e\n');
    expect(screen.text).toContain('b\\u009b2J: ');
  });

  test('can end the input without an answer, and can be asked again', async () => {
    const { terminal, keys } = terminalOf();
    const first = terminal.ask('Name: ', signal);
    keys.write('\u0004');
    expect(await first).toBeUndefined();
    const second = terminal.ask('Name: ', signal);
    keys.write('Ada\r');
    expect(await second).toBe('Ada');
  });

  test('is not asked any more when the question is cancelled', async () => {
    const { terminal, screen } = terminalOf();
    const controller = new AbortController();
    const answer = terminal.ask('Name: ', controller.signal);
    controller.abort(new Error('taken back'));
    await expect(answer).rejects.toThrow('taken back');
    expect(screen.text).toContain('(the server cancelled the question)');
    await expect(terminal.ask('Name: ', controller.signal)).rejects.toThrow('taken back');
  });

  test.each([
    ['xterm', true],
    ['dumb', true],
    // Not a terminal: the line is not edited.
    ['xterm', false],
  ])('does not answer a question with what was typed for one that was cancelled: %s, %s', async (term, isTTY) => {
    vi.stubEnv('TERM', term);
    const { terminal, keys } = terminalOf(isTTY);
    const controller = new AbortController();
    const first = terminal.ask('Password: ', controller.signal);
    keys.write('secr');
    await setImmediate();
    controller.abort(new Error('taken back'));
    await expect(first).rejects.toThrow('taken back');
    const second = terminal.ask('Name: ', signal);
    keys.write('Ada\r');
    expect(await second).toBe('Ada');
  });

  test('does not answer a question with further lines that were typed for one that was cancelled', async () => {
    const { terminal, keys } = terminalOf();
    const controller = new AbortController();
    const name = terminal.ask('Name: ', controller.signal);
    keys.write('Ada\rsecret\rpart');
    expect(await name).toBe('Ada');
    controller.abort(new Error('taken back'));
    await expect(terminal.ask('Password: ', controller.signal)).rejects.toThrow('taken back');
    const second = terminal.ask('Comment: ', signal);
    keys.write('fine\r');
    expect(await second).toBe('fine');
  });

  test('sees one question at a time, without a progress bar', async () => {
    const { terminal, keys, screen } = terminalOf();
    const order: string[] = [];
    const question = (name: string) =>
      terminal.exclusively(async () => {
        order.push(`${name}: ${await terminal.ask(`${name}? `, signal)}`);
      }, signal);
    const both = Promise.all([question('first'), question('second')]);
    await setImmediate();
    terminal.progress({ progress: 1, message: 'drawn over' });
    expect(screen.text).not.toContain('second?');
    keys.write('1\r2\r');
    await both;
    expect(order).toEqual(['first: 1', 'second: 2']);
    expect(screen.text).not.toContain('drawn over');
  });

  test('is not asked a question that was cancelled while it waited, and nothing keeps it in memory', async () => {
    const collect = garbageCollector();
    const { terminal, keys } = terminalOf();
    const first = terminal.exclusively(() => terminal.ask('first? ', signal), signal);
    const asked = vi.fn<(params: object) => void>();
    const ask = async (): Promise<WeakRef<object>> => {
      const controller = new AbortController();
      const params = { text: 'long' };
      const second = terminal.exclusively(async () => asked(params), controller.signal);
      controller.abort(new Error('taken back'));
      await expect(second).rejects.toThrow('taken back');
      return new WeakRef(params);
    };
    const left = await ask();
    await vi.waitFor(() => {
      collect();
      expect(left.deref() === undefined).toBe(true);
    });
    const third = terminal.exclusively(() => terminal.ask('third? ', signal), signal);
    keys.write('1\r3\r');
    expect(await Promise.all([first, third])).toEqual(['1', '3']);
    expect(asked).not.toHaveBeenCalled();
  });

  test('is asked the next question even if the previous one failed', async () => {
    const { terminal } = terminalOf();
    await expect(terminal.exclusively(() => Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(await terminal.exclusively(async () => 'yes', signal)).toBe('yes');
  });
});

test('a log message of a server is one line, and its control characters are removed', () => {
  const { terminal, screen } = terminalOf();
  const show = (message: LogMessage): void => terminal.print(logLine(message));
  show({ level: 'info', data: 'plain' });
  show({ level: 'error', logger: 'db', data: { lost: ['a\u001b[2J'] } });
  show({ level: 'info', data: 'two\nlines\u0007' });
  expect(screen.text).toBe('[info] plain\n[error] db: {"lost":["a\\u001b[2J"]}\n[info] two lines\\u0007\n');
});

test('a task shows its status', () => {
  vi.useFakeTimers();
  const { terminal, screen } = terminalOf();
  terminal.status({ status: 'working' });
  terminal.status({ status: 'working', statusMessage: 'Page 2 of 3' });
  vi.advanceTimersByTime(50);
  expect(screen.text).toBe('\r\u001b[2K… working\r\u001b[2K… Page 2 of 3');
});

test('a bar disappears when the call is over', () => {
  const { terminal, screen } = terminalOf();
  terminal.progress({ progress: 1 });
  expect(screen.text).toBe('\r\u001b[2K… 1');
  terminal.done();
  expect(screen.text.endsWith('\r\u001b[2K')).toBe(true);
});
