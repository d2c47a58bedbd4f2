import { clauses, onPage } from '../../lint/clauses.ts';
import type { Clauses } from '../../lint/rule.ts';
import type { Ground } from '../ground.ts';
import { shown } from '../reply.ts';
import { broken, RIGHT, skipped, type Outcome } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { heartbeatOf, requestOf } from '../session.ts';
import { seconds } from '../seconds.ts';

const FRAMING: Clauses = onPage('basic/transports', ['2', '3', '3', '3'], 'basic/transports/stdio 1');

/** How many requests are open when stdin ends. */
const OPEN = 5;
/** Between two pieces of a message, so that the server reads them separately. Milliseconds. */
const PIECE_DELAY = 50;

async function exitsAtEnd(ground: Ground): Promise<Outcome> {
  const session = await ground.stdioSession();
  await session.call(heartbeatOf(ground.revision));
  session.child.end();
  return (await session.child.exit(ground.patience, ground.signal))
    ? RIGHT
    : broken(`the server still ran ${seconds(ground.patience)} after the end of its stdin`);
}

/** The bytes on stdin and stdout, and the end of the process. */
export const STDIO_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'stdin-end-answers',
    area: 'stdio',
    severity: 'warning',
    clauses: clauses('basic/messages 5', 'basic/index 6', 'basic/index 6', 'basic/index 6', 'basic/index 6'),
    right: 'The server should answer the requests that came before the end of stdin, and then exit.',
    over: 'stdio',
    probe: async (ground) => {
      const session = await ground.stdioSession();
      const { slowest: call } = ground;
      const [list] = ground.lists;
      const [name, params] = call
        ? ['tools/call', { name: call.tool, arguments: call.args }]
        : [list === undefined ? heartbeatOf(ground.revision) : `${list}/list`, {}];
      const ids = Array.from({ length: call ? 1 : OPEN }, () => session.nextId());
      const requests = ids.map((id) => `${JSON.stringify(requestOf(ground.revision, id, name, params))}\n`);
      const sent = session.child.write(requests.join(''));
      session.child.end();
      const lost = [];
      const end = performance.now() + ground.patience + (call?.took ?? 0);
      for (const id of ids) {
        const { messages } = await session.answerTo(id, Math.max(1, end - performance.now()));
        if (messages.length === 0) lost.push(id);
      }
      const after = session.child.hasExited ? 'the server exited' : 'the server still runs';
      return lost.length === 0
        ? RIGHT
        : broken(`${lost.length} of ${ids.length} requests (${name}) got no answer, and ${after}`, sent);
    },
  },
  {
    id: 'stdin-end-exit',
    area: 'stdio',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/transports/stdio 13' },
    right: 'The server should exit promptly when its stdin ends.',
    over: 'stdio',
    probe: exitsAtEnd,
  },
  {
    id: 'stdin-end-exit-legacy',
    area: 'stdio',
    severity: 'advice',
    clauses: onPage('basic/lifecycle', ['15', '16', '16', '16']),
    right: 'The server should exit when its stdin ends, so that clients need not kill it.',
    over: 'stdio',
    probe: exitsAtEnd,
  },
  {
    id: 'not-utf8',
    area: 'stdio',
    severity: 'error',
    clauses: FRAMING,
    right: 'The server must keep working after a line that is not UTF-8, and after an empty line.',
    over: 'stdio',
    probe: async (ground) => {
      const session = await ground.stdioSession();
      session.child.write(Buffer.from([0xff, 0xfe, 0x22, 0x0a, 0x0a, 0x0d, 0x0a]));
      const reply = await session.call(heartbeatOf(ground.revision));
      return reply.messages.length > 0 ? RIGHT : broken(`after that, ${shown(reply)}`, reply.n);
    },
  },
  {
    id: 'message-in-pieces',
    area: 'stdio',
    severity: 'error',
    clauses: FRAMING,
    right: 'The server must read a message that arrives in pieces, and several messages that arrive at once.',
    over: 'stdio',
    probe: async (ground) => {
      const session = await ground.stdioSession();
      const method = heartbeatOf(ground.revision);
      // Until the server reads, the pieces would join.
      await session.call(method);
      const [first, second, third] = [session.nextId(), session.nextId(), session.nextId()];
      const line = (id: string): Buffer =>
        Buffer.from(`${JSON.stringify(requestOf(ground.revision, id, method, { note: '€' }))}\n`);
      const cut = line(first);
      // In the middle of the character of three bytes.
      const at = cut.indexOf(Buffer.from('€')) + 1;
      session.child.write(cut.subarray(0, at));
      await new Promise((resolve) => setTimeout(resolve, PIECE_DELAY));
      const sent = session.child.write(Buffer.concat([cut.subarray(at), line(second), line(third)]));
      for (const id of [first, second, third]) {
        const reply = await session.answerTo(id);
        if (reply.messages.length === 0) return broken(shown(reply), sent);
        if (reply.messages.some((each) => 'error' in each)) return skipped('the server refuses a further member');
      }
      return RIGHT;
    },
  },
];
