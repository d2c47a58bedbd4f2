import { expect, test } from 'vitest';
import { settled } from '../../../test/support/service.ts';
import { memoryClaims } from '../../store/memory-claims.ts';
import type { KeptSession } from '../../transport/http/client/kept-session.ts';
import { KeptSessions } from './kept-sessions.ts';
import { Pin } from './pin.ts';

const SESSION: KeptSession = { id: 'secret', opened: { protocolVersion: '2025-11-25' }, takenOver: 0 };

const found = async (session: KeptSession): Promise<KeptSession> => session;

/** A process that has claimed the key of a client. */
async function world() {
  const claims = memoryClaims()('a');
  await claims.claim('client');
  const keeper = (stateKey: string, server: string, key = 'client') =>
    new KeptSessions({
      ...{ stateKey, server, onerror: () => {} },
      claims: { ...claims, kept: () => claims.kept!('client') },
    }).keeperOf(new Pin(key, 'identity'))!;
  return { claims, keeper };
}

test('a session is found with the same key, server and client, and is not readable', async () => {
  const { claims, keeper } = await world();
  keeper('the same state key', 'https://a.example').keep(SESSION);
  await settled();
  const text = await claims.kept!('client');
  expect(text).toBeDefined();
  expect(Buffer.from(text!, 'base64url').toString('latin1')).not.toContain('secret');
  expect(await keeper('the same state key', 'https://a.example').resume(found)).toEqual(SESSION);
  expect(await keeper('another state key', 'https://a.example').resume(found)).toBeUndefined();
  expect(await keeper('the same state key', 'https://b.example').resume(found)).toBeUndefined();
  expect(await keeper('the same state key', 'https://a.example', 'other client').resume(found)).toBeUndefined();
});

test('a session is not kept if its server says very much about itself, and is removed when it has ended', async () => {
  const { claims, keeper } = await world();
  const { keep } = keeper('the same state key', 'https://a.example');
  keep({ ...SESSION, opened: { instructions: 'x'.repeat(10_000) } });
  await settled();
  expect(await claims.kept!('client')).toBeUndefined();
  keep(SESSION);
  keep(undefined);
  await settled();
  expect(await claims.kept!('client')).toBeUndefined();
});
