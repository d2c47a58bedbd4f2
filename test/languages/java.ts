import { missingResourceBehindBridge } from './findings.ts';
import type { Language, Row } from './language.ts';
import { bridgedRows, clientRows, serverRows } from './rows.ts';
import { javaProgram } from './toolchains.ts';

/**
 * It does not have 2026-07-28 yet, and only 2024-11-05 over HTTP+SSE. Its server over HTTP+SSE writes one stream from
 * several threads without a lock, so the stream is valid HTTP only by luck.
 */
const has = ({ peer, way, revision }: Row): boolean =>
  revision < '2026-07-28' && (way !== 'sse' || (peer === 'client' && revision === '2024-11-05'));

export const javaSdk: Language = {
  toolchain: 'Java',
  name: 'Java SDK 2.1.0',
  server: (way) => [...javaProgram('Server'), `--${way}`],
  client: javaProgram('Client'),
  rows: [
    ...serverRows,
    ...clientRows,
    { peer: 'client', way: 'sse', revision: '2024-11-05' } as const,
    ...bridgedRows('http', 'stdio'),
  ].filter(has),
  tasks: false,
  findings: [
    missingResourceBehindBridge,
    {
      what: 'a server does not handle `notifications/cancelled`: its calls run to their end',
      rule: 'a server should stop a cancelled call',
      ours: 'The client and the bridge send the cancellation, and do not wait for the result.',
      features: ['cancel'],
      rows: ({ peer }) => peer === 'server',
      fails: /the call learns that it was cancelled/,
    },
    {
      what: 'a client does not send `notifications/cancelled` for a call that is interrupted',
      rule: 'a client may cancel a call',
      ours: 'Nothing: the call runs to its end.',
      features: ['cancel'],
      rows: ({ peer }) => peer === 'client',
      fails: /the call learns that it was cancelled/,
    },
    {
      what: 'a server without sessions has no log messages',
      rule: 'log messages are optional',
      ours: 'Nothing.',
      features: ['introduction'],
      rows: ({ peer, way }) => peer === 'server' && way === 'stateless',
      fails: /to match object/,
    },
    {
      what: 'a server without sessions has no means to report progress',
      rule: 'progress is optional',
      ours: 'Nothing.',
      features: ['progress'],
      rows: ({ peer, way }) => peer === 'server' && way === 'stateless',
      fails: /to deeply equal \[ 1, 2, 3, 4, 5 \]/,
    },
    {
      what: 'a client sends only the methods that it knows',
      rule: 'other methods are not part of the protocol',
      ours: 'Nothing.',
      features: ['unknown method'],
      rows: ({ peer }) => peer === 'client',
      fails: /code: -32601/,
    },
  ],
};
