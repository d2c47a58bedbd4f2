import type { RunningServer } from '../../test/support/process.ts';
import type { HttpConnection } from '../http-connection.ts';
import { HttpSession } from '../http-session.ts';
import { progress } from '../rows.ts';
import { sampled } from '../sample.ts';
import { add, below } from './goals.ts';
import { connectTo, everwire, withCluster } from './start.ts';

const WARM_UP = 1;
const ANSWER = 'the-answer';

/** How long an answer takes until the call that asked has ended, if another process gets it. */
export async function questionRows(seconds: number): Promise<void> {
  progress('cluster, questions');
  await withCluster(2, everwire, async ({ servers: [asking, other] }) => {
    const call = connectTo(asking!);
    const answering = [asking!, other!].map((server: RunningServer) => connectTo(server));
    const session = await HttpSession.open(new URL(asking!.url), call, undefined, { elicitation: {} });
    const took: number[][] = [[], []];
    try {
      const begun = performance.now();
      for (let end = begun + (WARM_UP + 2 * seconds) * 1000; performance.now() < end;) {
        for (const [way, connection] of answering.entries()) {
          const latency = await answerOnce(session, call, connection);
          if (performance.now() > begun + WARM_UP * 1000) took[way]!.push(latency);
        }
      }
    } finally {
      for (const connection of [call, ...answering]) connection.close();
    }
    const [same, through] = took.map((latencies) => sampled(latencies, seconds * 1000));
    const added = through!.p50 - same!.p50;
    const what = 'an answer to a question until the call has ended';
    add(`${what}, at the same process`, 'everwire', '', undefined, same);
    add(`${what}, through another process`, 'everwire', `${added.toFixed(2)} ms added`, below(added, 1, 'ms'), through);
  });
}

/** Milliseconds from the answer to the question of one call until the call has ended. */
function answerOnce(session: HttpSession, call: HttpConnection, answering: HttpConnection): Promise<number> {
  return new Promise((resolve, reject) => {
    let answered: number | undefined;
    const onpart = (text: string): void => {
      if (answered !== undefined) return;
      const question = /^data: (.*"elicitation\/create".*)$/m.exec(text)?.[1];
      if (question === undefined) return;
      const { id } = JSON.parse(question) as { id: unknown };
      const result = { action: 'accept', content: { answer: ANSWER } };
      answered = performance.now();
      const body = JSON.stringify({ jsonrpc: '2.0', id, result });
      answering.send(
        session.post(body),
        ({ status, body: why }) => void (status === 202 || reject(new Error(`answer: ${status} ${why}`))),
        reject,
      );
    };
    call.send(
      session.callOf('ask', {}),
      ({ status, body }) => {
        if (status !== 200 || answered === undefined || !body.includes(`"${ANSWER}"`))
          reject(new Error(`ask: ${status} ${body}`));
        else resolve(performance.now() - answered);
      },
      reject,
      onpart,
    );
  });
}
