import { fileURLToPath } from 'node:url';
import { featureServer } from '../interop/peers.ts';
import { missingResource, missingResourceBehindBridge } from './findings.ts';
import type { Language } from './language.ts';
import { bridgedRows, clientRows, serverRows } from './rows.ts';
import { pythonProgram } from './toolchains.ts';

const file = (name: string): string => fileURLToPath(new URL(`python/${name}`, import.meta.url));
const python = pythonProgram('python');

export const fastmcp: Language = {
  toolchain: 'Python',
  name: 'FastMCP 4.2.3',
  server: (way) => [python, file('fastmcp_server.py'), `--${way}`],
  client: [python, file('fastmcp_client.py')],
  rows: [...serverRows, ...clientRows, ...bridgedRows()],
  tasks: false,
  findings: [
    missingResource,
    missingResourceBehindBridge,
    {
      what: 'the server has no subscriptions, and declares so',
      rule: 'subscriptions are optional',
      ours: 'The client gets an empty filter, or the error of the server.',
      features: ['subscription'],
      rows: ({ peer }) => peer === 'server',
      fails: /does not support this subscription|Method not found/,
    },
    {
      what: 'in 2026-07-28, the server has no `subscriptions/listen`, and declares so',
      rule: 'list changes are optional',
      ours: 'The client gets the error of the server.',
      features: ['list changed'],
      rows: ({ peer, revision }) => peer === 'server' && revision >= '2026-07-28',
      fails: /does not support this subscription|Method not found/,
    },
  ],
  differs: {
    logging: {
      // FastMCP wraps the text of a log message.
      log: async (client, heard) => {
        await featureServer.logging!.log(client, heard);
        return ({ data }) => data.msg === `at ${heard ? 'info' : 'warning'}`;
      },
    },
  },
};
