import { fileURLToPath } from 'node:url';
import { missingResource, missingResourceBehindBridge } from './findings.ts';
import type { Language } from './language.ts';
import { bridgedRows, clientRows, serverRows } from './rows.ts';
import { pythonProgram } from './toolchains.ts';

const file = (name: string): string => fileURLToPath(new URL(`python/${name}`, import.meta.url));
const python = pythonProgram('python');

export const pythonSdk: Language = {
  toolchain: 'Python',
  name: 'Python `mcp` 2.3.0',
  server: (way) => [python, file('server.py'), `--${way}`],
  client: [python, file('client.py')],
  rows: [...serverRows, ...clientRows, ...bridgedRows()],
  tasks: false,
  findings: [
    missingResource,
    missingResourceBehindBridge,
    {
      what: 'before 2026-07-28, the server declares `listChanged: false`, and sends the notification nevertheless',
      rule: 'a server that sends it should declare `listChanged`',
      ours: 'The client and the bridge subscribe only to what is declared. The notification itself reaches `onnotification`.',
      features: ['list changed'],
      rows: ({ peer, revision }) => peer === 'server' && revision < '2026-07-28',
      fails: /does not support this subscription/,
    },
  ],
};
