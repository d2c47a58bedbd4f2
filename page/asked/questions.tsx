import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { JsonView } from '../explore/json-view.tsx';
import type { Explorer } from '../explore/explorer.ts';
import { ShowMore } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import { FormElicitation } from './form-elicitation.tsx';
import { openQuestions, type Answer, type OpenQuestion } from './open-question.ts';
import { Sampling } from './sampling.tsx';
import { UrlElicitation } from './url-elicitation.tsx';

/** What shows one question. */
export interface QuestionProps {
  readonly explorer: Explorer;
  readonly question: OpenQuestion;
  /** Sends an answer. */
  readonly onanswer: (answer: Answer) => void;
}

/** The most questions that are shown at first. A form of a server may have hundreds of fields. */
const MAX_SHOWN = 3;

/** The questions that wait for the user, the oldest first. */
export function Questions({ explorer }: { explorer: Explorer }): JSX.Element {
  const questions = openQuestions(explorer);
  const shown = useSignal(MAX_SHOWN);
  if (questions.length === 0) return <p class="empty">No open questions.</p>;
  const more = questions.length - shown.value;
  return (
    <>
      <ul class="questions" aria-label="Questions">
        {questions.slice(0, shown.value).map((question) => (
          <li key={question.key}>
            <QuestionCard explorer={explorer} question={question} />
          </li>
        ))}
      </ul>
      <ShowMore shown={shown} more={more} portion={MAX_SHOWN}>
        {more === 1 ? 'One newer question waits.' : `${more} newer questions wait.`}
      </ShowMore>
    </>
  );
}

function QuestionCard({ explorer, question }: Pick<QuestionProps, 'explorer' | 'question'>): JSX.Element {
  const problem = useSignal<string | undefined>(undefined);
  const onanswer = (answer: Answer): void => {
    problem.value = undefined;
    question.answer(answer).catch((error: unknown) => {
      problem.value = (error as Error).message;
    });
  };
  const { method, received, task } = question;
  const [title, Body] = bodyOf(question);
  return (
    <article class="card" aria-label={title}>
      <header class="toolbar">
        <h3>{title}</h3>
        <code>
          <Visible text={method} />
        </code>
        {task !== undefined && (
          <span class="badge">
            Task <Visible text={task} />
          </span>
        )}
        {received && <span class="soft">{received.toLocaleTimeString()}</span>}
      </header>
      <Body explorer={explorer} question={question} onanswer={onanswer} />
      {problem.value !== undefined && (
        <p class="notice bad" role="alert">
          <Visible text={problem.value} lines />
        </p>
      )}
    </article>
  );
}

function bodyOf({
  method,
  params,
}: OpenQuestion): readonly [title: string, Body: (props: QuestionProps) => JSX.Element] {
  if (method === 'sampling/createMessage') return ['The server asks for a message from a model', Sampling];
  if (method !== 'elicitation/create') return ['The server asks a question of an unknown kind', UnknownQuestion];
  if (params['mode'] === 'url') return ['The server asks you to open a URL', UrlElicitation];
  return ['The server asks you to fill in a form', FormElicitation];
}

function UnknownQuestion({ question, onanswer }: QuestionProps): JSX.Element {
  return (
    <>
      <JsonView value={question.params} label="Parameters" />
      <Refusals onanswer={onanswer} />
    </>
  );
}

/** The buttons that refuse an elicitation, after those that accept it. */
export function Refusals({
  onanswer,
  children,
}: Pick<QuestionProps, 'onanswer'> & { children?: ComponentChildren }): JSX.Element {
  return (
    <p class="toolbar">
      {children}
      <button type="button" onClick={() => onanswer({ result: { action: 'decline' } })}>
        Decline
      </button>
      <button type="button" onClick={() => onanswer({ result: { action: 'cancel' } })}>
        Cancel
      </button>
    </p>
  );
}

/** The server's message to the user. */
export function Message({ params }: { params: OpenQuestion['params'] }): JSX.Element | null {
  const { message } = params;
  return typeof message === 'string' ? (
    <p class="prose">
      <Visible text={message} lines />
    </p>
  ) : null;
}
