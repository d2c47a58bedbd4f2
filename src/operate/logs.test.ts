import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLog, type LogOptions } from './logs.ts';

async function logging(options: LogOptions = {}) {
  const lines: string[] = [];
  const log = await createLog({ ...options, write: (line) => lines.push(line) });
  return { log, lines };
}

describe('a log', () => {
  test.each(['plain', 'json'] as const)('writes messages of the given severity and above: %s', async (format) => {
    for (const [level, count] of [
      ['debug', 4],
      ['info', 3],
      ['warn', 2],
      ['error', 1],
      ['silent', 0],
    ] as const) {
      const { log, lines } = await logging({ format, level });
      for (const severity of ['debug', 'info', 'warn', 'error'] as const) log.write(severity, 'said');
      expect(lines).toHaveLength(count);
    }
  });

  test.each(['plain', 'json'] as const)('leaves out lines while nobody reads stderr: %s', async (format) => {
    let unread = 0;
    const lines: string[] = [];
    vi.spyOn(process.stderr, 'writableLength', 'get').mockImplementation(() => unread);
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    onTestFinished(() => void vi.restoreAllMocks());
    const log = await createLog({ format });
    log.write('info', 'read');
    unread = 5 * 1024 * 1024;
    for (let n = 0; n < 3; n += 1) log.write('info', 'unread');
    unread = 0;
    log.write('info', 'read again');
    const lost = '3 lines of the log were left out, because stderr was not read';
    expect(lines).toEqual(['read', lost, 'read again'].map((text) => expect.stringContaining(text)));
  });

  test('in plain format has the same form as other output of everwire', async () => {
    const { log, lines } = await logging();
    log.write('info', 'listening', { url: 'http://127.0.0.1:1/mcp', name: 'two words', none: undefined, count: 3 });
    expect(lines).toEqual(['everwire: listening url=http://127.0.0.1:1/mcp name="two words" count=3\n']);
  });

  test.each(['plain', 'json'] as const)('removes secrets everywhere: %s', async (format) => {
    const { log, lines } = await logging({ format, secrets: ['s3cret-known', 's3cret-known-longer'] });
    log.write('error', 'fetch of https://ada:s3cret-pw@host/path?key=s3cret-query#part failed: s3cret-known-longer', {
      header: 'Bearer s3cret-bearer',
      encoded: encodeURIComponent('s3cret-known'),
      url: 'https://host/mcp?s3cret',
    });
    expect(lines.join('')).not.toContain('s3cret');
    expect(lines.join('')).toContain('https://[redacted]@host/path?[redacted]#part failed');
  });

  test('shows a login URL in full, on its own line or in a field', async () => {
    const address = new URL('https://login.example/authorize?state=x&code_challenge=y\u202e');
    const plain = await logging();
    plain.log.address('warn', 'please log in\nnow', address);
    expect(plain.lines.join('')).toBe(`everwire: please log in\\nnow\n${address.href}\n`);
    const json = await logging({ format: 'json' });
    json.log.address('warn', 'please log in', address);
    expect(JSON.parse(json.lines.join(''))).toMatchObject({ msg: 'please log in', address: address.href });
  });

  test('removes secrets that are added later', async () => {
    const { log, lines } = await logging({ secrets: ['s3cret-first'] });
    log.hide('server', ['s3cret-later']);
    log.write('info', 'keys', { first: 's3cret-first', later: 's3cret-later' });
    expect(lines.join('')).not.toContain('s3cret');
  });

  test('keeps the newest secrets of each owner and the previous ones, and forgets older ones', async () => {
    const { log } = await logging({ secrets: ['s3cret-first'] });
    for (const n of [1, 2, 3, 3]) log.hide('server', [`s3cret-number-${n}`]);
    log.hide('other', ['s3cret-other']);
    const hidden = ['s3cret-first', 's3cret-number-2', 's3cret-number-3', 's3cret-other'];
    expect(hidden.map(log.scrub)).toEqual(hidden.map(() => '[redacted]'));
    expect(log.scrub('s3cret-number-1')).toBe('s3cret-number-1');
    for (let n = 0; n < 2; n += 1) log.hide('other', []);
    expect(log.scrub('s3cret-other')).toBe('[redacted]');
  });

  test('cleans and shortens long texts quickly', async () => {
    const { log, lines } = await logging({ secrets: ['s3cret-known'] });
    const before = process.cpuUsage();
    for (const odd of ['a.', 'bearer ', 'a://', 'x://?', '@', ' ']) log.write('info', odd.repeat(1_000_000));
    log.write('info', `${'x'.repeat(16_380)}s3cret-known`);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    expect(lines.every((line) => line.length < 17_000)).toBe(true);
    expect(lines.join('')).not.toContain('s3cr');
  });
});
