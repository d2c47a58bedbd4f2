import { describe, expect, onTestFinished, test } from 'vitest';
import type { Target } from '../interop/clients.ts';
import { matrix } from '../interop/matrix.ts';
import { featureServer } from '../interop/peers.ts';
import { Events, initialize, POST_HEADERS } from '../support/http.ts';
import { listening, programs, root, startProgram } from '../support/process.ts';
import { runtimes } from './runtime.ts';

const clients = ['sdk 1.x', 'client 2.x modern'] as const;
const fetchServer = `${root}test/fixtures/fetch-server.mjs`;

/** Our server on another runtime, with official clients on Node. */
describe.each(runtimes)('a server on $name', ({ name, command }) => {
  describe.skipIf(command === undefined)('', () => {
    const [program, ...args] = command ?? [''];
    const start = (http: readonly string[]) => async (): Promise<{ target: Target; stop: () => Promise<unknown> }> => {
      const { url, sseUrl, stop } = await listening(startProgram(program!, [...args, ...http]));
      return { target: { program, stdio: [...args, ...programs.features, '--stdio'], url, sseUrl }, stop };
    };

    matrix(`${name}: listen and stdio`, featureServer, start([...programs.features, '--port', '0']), { clients });

    matrix(`${name}: fetch`, featureServer, start([fetchServer]), { clients, transports: ['http'] });

    test.each([
      ['listen', [...programs.features, '--port', '0']],
      ['fetch', [fetchServer]],
    ])('%s: a stream continues after the last event that its client has', async (_, http) => {
      const { url, stop } = await listening(startProgram(program!, [...args, ...http]));
      onTestFinished(async () => void (await stop()));
      const post = (body: object, headers = {}): Promise<Response> =>
        fetch(url, { method: 'POST', headers: { ...POST_HEADERS, ...headers }, body: JSON.stringify(body) });
      const opened = await post(initialize());
      await opened.text();
      const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
      await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
      const params = { name: 'count', arguments: { to: 20 }, _meta: { progressToken: 'p' } };
      const broken = new Events(await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, session));
      let last = await broken.next();
      while (!last?.data) last = await broken.next();
      await broken.cancel();

      const again = { ...session, accept: 'text/event-stream', 'last-event-id': last.id! };
      const rest = await new Events(await fetch(url, { headers: again })).rest();
      const messages = [last, ...rest].filter(({ data }) => data).map(({ data }) => JSON.parse(data!));
      const result = messages.pop();
      expect(result).toMatchObject({ id: 1, result: { content: [{ type: 'text', text: 'counted to 20' }] } });
      const seen = messages.map((message) => message.params.progress);
      expect(seen).toEqual(Array.from({ length: 20 }, (_each, index) => index + 1));
    });
  });
});
