import { pathToFileURL } from 'node:url';
import type { Target } from '../../../src/client/index.ts';
import { programs, root, startServer } from '../../support/process.ts';
import { everything } from '../peers.ts';
import { serverMatrix, type Column } from './server-matrix.ts';

const [script] = programs.everything;
const announce = pathToFileURL(`${root}test/fixtures/announce.mjs`).href;

type Started = ReturnType<Column['start']>;

async function stdio(): Started {
  const target: Target = { command: process.execPath, args: programs.everything, stderr: 'ignore' };
  return { target, stop: async () => {} };
}

/** Starts the program on a free port. */
async function listening(kind: 'streamableHttp' | 'sse'): Started {
  const server = await startServer(['--import', announce, script, kind], { PORT: '0' });
  return { target: kind === 'sse' ? server.sseUrl : server.url, stop: () => server.stop() };
}

const revision = '2025-11-25';

serverMatrix('server-everything', [
  { heading: 'stdio', peer: everything, revision, start: stdio },
  { heading: 'Streamable HTTP', peer: everything, revision, start: () => listening('streamableHttp') },
  { heading: 'HTTP+SSE', peer: everything, revision, start: () => listening('sse') },
]);
