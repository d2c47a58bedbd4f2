import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunningRequest } from '../../src/inspect/page-server/page-api.ts';
import { openQuestions } from '../asked/open-question.ts';
import { Visible } from '../ui/visible.tsx';
import { answerRecord, type AnswerRecord } from './answer-record.ts';
import { durationText } from './bytes.ts';
import { Disclosure } from './disclosure.tsx';
import { textOf } from './entry-list.ts';
import type { Explorer, Session } from './explorer.ts';
import { OutcomeView, summaryOf } from './outcome-view.tsx';
import type { Sent } from './request.ts';
import { SaveCall } from './save-call.tsx';
import { TaskPanel } from './task-panel.tsx';
import { Text } from './text.tsx';

interface CallsProps {
  readonly explorer: Explorer;
  readonly session: Session;
  /** The entry whose requests are shown. */
  readonly entry: string;
  /** For files. */
  readonly name: string;
  readonly outputSchema?: unknown;
}

/** The newest request of an entry with its outcome, and the earlier ones. */
export function Calls({ explorer, session, entry, name, outputSchema }: CallsProps): JSX.Element | null {
  const calls = session.calls(entry).value;
  const chosen = useSignal<Sent | undefined>(undefined);
  const newest = calls[0];
  // Show a new request at once.
  useEffect(() => {
    chosen.value = undefined;
  }, [newest]);
  const shown = chosen.value && calls.includes(chosen.value) ? chosen.value : newest;
  const answer = useAnswer(explorer, shown);
  if (!shown) return null;
  return (
    <section class="result" aria-label="Result">
      <div class="result-head">
        <h3>Result</h3>
        <CallStatus sent={shown} />
        {answer && (
          <button type="button" class="quiet" onClick={() => explorer.showRecord(answer.n)}>
            Show in Wire
          </button>
        )}
        <SaveCall key={shown.key} explorer={explorer} session={session} sent={shown} name={name} />
        {calls.length > 1 && (
          <select
            aria-label="Recent requests"
            value={calls.indexOf(shown)}
            onChange={({ currentTarget }) => {
              chosen.value = calls[Number(currentTarget.value)];
            }}
          >
            {calls.map((sent, at) => (
              <option value={at} key={sent.key}>
                {sent.time.toLocaleTimeString()} {sent.outcome.value ? summaryOf(sent.outcome.value) : 'running'}
              </option>
            ))}
          </select>
        )}
      </div>
      <Call
        key={shown.key}
        explorer={explorer}
        session={session}
        sent={shown}
        answer={answer}
        name={name}
        outputSchema={outputSchema}
      />
    </section>
  );
}

/** A live region: screen readers announce when a request ends. */
function CallStatus({ sent }: { sent: Sent }): JSX.Element {
  const outcome = sent.outcome.value;
  const isBad = outcome && (['error', 'refused', 'lost'].includes(outcome.kind) || isToolError(outcome));
  return (
    <span role="status" class={`badge ${outcome ? (isBad ? 'bad' : 'good') : 'warn'}`}>
      {outcome ? summaryOf(outcome) : 'Running'}
    </span>
  );
}

function isToolError(outcome: NonNullable<Sent['outcome']['value']>): boolean {
  return outcome.kind === 'result' && outcome.result['isError'] === true;
}

interface CallProps extends Omit<CallsProps, 'entry'> {
  readonly sent: Sent;
  readonly answer: AnswerRecord | undefined;
}

function Call({ explorer, session, sent, answer, name, outputSchema }: CallProps): JSX.Element {
  const outcome = sent.outcome.value;
  const task = outcome?.kind === 'result' ? session.task(outcome.result) : undefined;
  const onread = (uri: string): void => {
    session.open('Resources', uri);
    session.call(uri, 'resources/read', { uri });
  };
  return (
    <>
      {!outcome && (
        <Running
          explorer={explorer}
          sent={sent}
          running={explorer.state.value.running.find(({ key }) => key === sent.key)}
        />
      )}
      {task && <TaskPanel task={task} name={name} outputSchema={outputSchema} onread={onread} />}
      {outcome && !task && (
        <OutcomeView
          outcome={outcome}
          source={answer?.result}
          name={name}
          outputSchema={outputSchema}
          onread={onread}
        />
      )}
      <Disclosure title="Parameters sent">{() => <Text text={sent.params} />}</Disclosure>
    </>
  );
}

const searches = new WeakMap<Sent, { answer?: AnswerRecord | undefined; searched: number }>();

/** The record of the response. It may arrive after the outcome, because they arrive on different streams. */
function useAnswer({ wire }: Explorer, sent: Sent | undefined): AnswerRecord | undefined {
  const outcome = sent?.outcome.value;
  if (!sent || !outcome) return undefined;
  const search = searches.get(sent) ?? { searched: sent.after };
  searches.set(sent, search);
  if (!search.answer) {
    void wire.source.version.value;
    search.answer = answerRecord(wire.store, sent.method, outcome, search.searched);
    search.searched = wire.store.newest;
  }
  return search.answer;
}

/** A running request: its time, its progress, and a button that cancels it. */
function Running({
  explorer,
  sent,
  running,
}: {
  explorer: Explorer;
  sent: Sent;
  running: RunningRequest | undefined;
}): JSX.Element {
  const now = useSignal(performance.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = performance.now();
    }, 100);
    return () => clearInterval(timer);
  }, []);
  const { progress, total, message } = running?.progress ?? {};
  const isMeasured = typeof progress === 'number' && typeof total === 'number' && total > 0;
  return (
    <div class="running">
      <button type="button" class="danger" onClick={() => sent.cancel()}>
        Cancel
      </button>
      {isMeasured ? (
        <progress value={progress} max={total} aria-label="Progress" />
      ) : (
        <progress aria-label="Progress" />
      )}
      <span class="mono elapsed">{durationText(now.value - sent.started)}</span>
      {typeof progress === 'number' && (
        <span class="mono">
          {progress}
          {typeof total === 'number' && ` / ${total}`}
        </span>
      )}
      {textOf(message) !== undefined && (
        <span>
          <Visible text={message as string} />
        </span>
      )}
      {/* An older server does not say to which request its question belongs. */}
      {openQuestions(explorer).length > 0 && (
        <button type="button" onClick={() => explorer.show('Asked')}>
          Answer the server’s question
        </button>
      )}
    </div>
  );
}
