import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startAuthorizationFixture, type Faults, type Fixture } from '../../test/support/authorization-fixture.ts';
import { temporaryFolder } from '../../test/support/command-line.ts';
import { Capture } from '../inspect/capture.ts';
import { recordToFile } from '../inspect/record-to-file.ts';
import { StreamBytes } from '../lint/model/stream-bytes.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import type { AuthorizationCommand, AuthorizationState } from '../inspect/page-server/page-api.ts';
import { AuthorizationSteps } from './authorization-steps.ts';

interface Started {
  readonly steps: AuthorizationSteps;
  readonly fixture: Fixture;
  readonly state: () => AuthorizationState;
  start(command?: Partial<AuthorizationCommand>, login?: object): void;
  /** Resolves with the first state that fits. */
  until(fits: (state: AuthorizationState) => unknown): Promise<AuthorizationState>;
}

async function prepare(faults: Faults = {}, capture?: Capture): Promise<Started> {
  const fixture = await startAuthorizationFixture(faults);
  let state: AuthorizationState | undefined;
  let onstate = (): void => {};
  const steps = new AuthorizationSteps((next) => {
    state = next;
    onstate();
  }, capture);
  onTestFinished(async () => {
    await steps.close();
    await fixture.close();
  });
  return {
    steps,
    fixture,
    state: () => state!,
    start: (command = {}, login = {}) =>
      steps.start(
        { kind: 'url', url: new URL(fixture.url), headers: {}, login },
        { revision: '2026-07-28', url: fixture.url, ...command },
      ),
    until: (fits) =>
      new Promise((resolve) => {
        onstate = () => {
          if (state && fits(state)) resolve(state);
        };
        onstate();
      }),
  };
}

/** Goes on at each pause until a step was done. */
async function walkTo({ steps, until }: Started, id: string): Promise<AuthorizationState> {
  for (;;) {
    const state = await until(({ pause, isOver }) => pause !== undefined || isOver);
    if (state.isOver || state.steps.at(-1)!.id === id) return state;
    steps.proceed({});
  }
}

test('the requests of the steps are records, and in no recording', async () => {
  const file = path.join(temporaryFolder(), 'session.mcpcap');
  const capture = new Capture();
  const recording = await recordToFile(capture, file, { onerror: () => {} });
  const started = await prepare({}, capture);
  started.start();
  await walkTo(started, 'registration');
  // Something that is recorded.
  const tap = capture.open({ protocol: 'stdio', role: 'client' });
  tap.bytes('c>s', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'));
  tap.close();
  await started.steps.close();
  await recording.close();
  const heads: string[] = [];
  const purposes = new Set<unknown>();
  const bytes = new StreamBytes(1024 * 1024);
  for await (const records of capture.records())
    for (const record of records) {
      if (record.layer === 'open' && record.protocol === 'http') purposes.add(record.purpose);
      if (!('dir' in record)) continue;
      const stream = `${record.conn} ${record.dir}`;
      if (record.layer === 'bytes') bytes.add(stream, record.range[0], record.bytes);
      if (record.layer === 'head' && record.dir === 'c>s')
        heads.push(Buffer.from(bytes.read(stream, record.range)!).toString().split('?')[0]!.split(' HTTP')[0]!);
    }
  expect(heads).toEqual(expect.arrayContaining(started.fixture.asked.slice(0, 3)));
  expect([...purposes]).toEqual(['authorization']);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('ping');
  expect(text).not.toContain('HTTP/1.1');
});

test('each step waits for the user', async () => {
  const started = await prepare();
  started.start();
  const first = await started.until(({ pause }) => pause);
  expect(first).toMatchObject({
    target: started.fixture.url,
    running: undefined,
    pause: { step: 'resource-metadata' },
  });
  expect(started.fixture.asked).toEqual(['POST /mcp']);
  const { pause } = await walkTo(started, 'registration');
  expect(pause).toMatchObject({ step: 'authorization-request', parameters: { scope: 'read' } });
  started.steps.proceed({ parameters: { ...pause!.parameters, scope: 'more' } });
  await started.until((state) => state.pause?.step === 'callback');
  started.steps.proceed({});
  const { login } = await started.until((state) => state.login);
  expect(new URL(login!.url).searchParams.get('scope')).toBe('more');
  await fetch(login!.url);
  const last = await walkTo(started, 'revocation');
  expect(last).toMatchObject({ isOver: true, running: undefined, pause: undefined, login: undefined });
  expect(last.steps).toHaveLength(12);
});

test('a walk that was ended says nothing more', async () => {
  const started = await prepare();
  started.start();
  await walkTo(started, 'authorization-request');
  started.steps.proceed({});
  await started.until(({ login }) => login);
  started.steps.end();
  const ended = started.state();
  expect(ended).toMatchObject({ isOver: true, login: undefined });
  await started.steps.close();
  expect(started.state()).toBe(ended);
  expect(() => started.steps.proceed({})).toThrow('No step waits for you.');
});

test('another walk ends the one before', async () => {
  const started = await prepare();
  started.start();
  await walkTo(started, 'pkce');
  started.start({ revision: '2025-11-25' });
  const state = await started.until(({ pause }) => pause);
  expect(state).toMatchObject({ revision: '2025-11-25', steps: [{ id: 'challenge' }], isOver: false });
});

test('the client of the configuration is used, unless the user names another', async () => {
  const started = await prepare();
  started.start({}, { clientId: 'configured', scopes: ['a', 'b'] });
  const configured = await walkTo(started, 'registration');
  expect(configured.pause!.parameters).toMatchObject({ client_id: 'configured', scope: 'a b read' });
  started.start({ clientId: 'typed', scope: 'c' }, { clientId: 'configured', scopes: ['a'] });
  const typed = await walkTo(started, 'registration');
  expect(typed.pause!.parameters).toMatchObject({ client_id: 'typed', scope: 'c read' });
  expect(started.fixture.asked).not.toContain('POST /register');
});

test.each([
  [{ clientSecret: 'secret' }, 'A client secret needs the client that it belongs to.'],
  [{ clientMetadataUrl: 'http://example.com/a' }, 'clientMetadataUrl must be an https URL'],
  [{ tool: 'write', args: '{' }, 'The arguments of the tool must be JSON.'],
  [{ tool: 'write', args: '[]' }, 'The arguments of the tool must be a JSON object.'],
])('%s is refused', async (command, message) => {
  const { start, fixture } = await prepare();
  expect(() => start(command)).toThrow(CommandRefused);
  expect(() => start(command)).toThrow(message);
  expect(fixture.asked).toEqual([]);
});
