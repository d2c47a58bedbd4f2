import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readJson } from './json-value.ts';
import { readOAuthFlags } from './oauth-options.ts';
import { ENVIRONMENT, readSecret } from './read-secret.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'everwire-options-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string): string {
  const target = path.join(directory, name);
  writeFileSync(target, content);
  return target;
}

function secretIn(from: string): string[] {
  return readSecret('--api-key', `@${from}`, ENVIRONMENT);
}

function clientSecretIn(from: string): unknown {
  return readOAuthFlags({ clientId: 'x', clientSecret: `@${from}`, scope: [], callbackPort: undefined }, {});
}

test('a file of secrets may have 1 MiB', () => {
  const most = file('most', 'a'.repeat(2 ** 20));
  expect(secretIn(most)[0]).toHaveLength(2 ** 20);
  const larger = file('larger', 'a'.repeat(2 ** 20 + 1));
  expect(() => secretIn(larger)).toThrow(`--api-key cannot read ${larger}: it is larger than 1048576 bytes`);
  expect(() => clientSecretIn(larger)).toThrow(
    `--client-secret cannot read ${larger}: it is larger than 1048576 bytes`,
  );
});

// Reading a pipe would block until another program writes to it, and nothing could interrupt it.
describe.skipIf(process.platform === 'win32')('a pipe or a device', () => {
  test('is no file of secrets', () => {
    const pipe = path.join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const from of [pipe, '/dev/zero']) {
      expect(() => secretIn(from)).toThrow(`--api-key cannot read ${from}: it is not a regular file`);
      expect(() => clientSecretIn(from)).toThrow(`--client-secret cannot read ${from}: it is not a regular file`);
    }
  });

  test('may have 16 MiB of JSON', async () => {
    const read = readJson('--args-json', 'arguments', '@/dev/zero');
    await expect(read).rejects.toThrow('cannot read the arguments from /dev/zero: they are larger than 16777216 bytes');
  });
});
