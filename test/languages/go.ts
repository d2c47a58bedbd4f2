import { missingResource, missingResourceBehindBridge } from './findings.ts';
import { CONNECTION, type Language } from './language.ts';
import { bridgedRows, clientRows, olderClientRows, serverRows } from './rows.ts';
import { goProgram } from './toolchains.ts';

export const goSdk: Language = {
  toolchain: 'Go',
  name: 'Go SDK 1.8.0',
  server: (way) => [goProgram('server'), `--${way}`],
  client: [goProgram('client')],
  rows: [...serverRows, ...olderClientRows, ...clientRows, ...bridgedRows('stateless')],
  tasks: false,
  findings: [
    {
      what: 'a server with sessions does not serve 2026-07-28 over HTTP',
      rule: 'a server chooses its revisions',
      ours: 'A client of both eras uses 2025-11-25.',
      features: [CONNECTION],
      rows: ({ peer, way, revision }) => peer === 'server' && way === 'http' && revision >= '2026-07-28',
      fails: /The server speaks 2025-11-25/,
    },
    missingResource,
    missingResourceBehindBridge,
    {
      what: 'over HTTP, before 2026-07-28, an unknown method gets status 400 and a plain text',
      rule: 'the response is a JSON-RPC error with code −32601',
      ours: 'The call fails with an error that names the status.',
      features: ['unknown method'],
      rows: ({ peer, way, revision }) => peer === 'server' && way !== 'stdio' && revision < '2026-07-28',
      fails: /to match object \{ code: -32601 \}/,
    },
    {
      what: 'in 2026-07-28 over HTTP, a call continues after its client has closed the stream',
      rule: 'a server must treat it as a cancellation',
      ours: 'The client and the bridge close the stream. Set `PropagateRequestCancellation` of `StreamableHTTPOptions` in the server, and it stops the call.',
      features: ['cancel'],
      rows: ({ peer, way, revision }) => peer === 'server' && way === 'stateless' && revision >= '2026-07-28',
      fails: /the call learns that it was cancelled/,
    },
  ],
};
