import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { HeldMessage } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { compactJson } from '../form/json-text.ts';
import { costOf } from '../ui/text-cost.ts';
import { inJson, Visible, visible } from '../ui/visible.tsx';
import type { BreakpointView } from './breakpoint-view.ts';
import { HeldContent } from './held-content.tsx';
import { HeldTimes } from './held-times.tsx';

const KINDS: Readonly<Record<string, string>> = {
  request: 'Request',
  notification: 'Notification',
  result: 'Result',
  error: 'Error',
};
/** The largest message that can be edited here (see `costOf`): a browser needs seconds to show more in a text area. */
const MAX_EDITED = 200_000;
const TEMPLATE = '{\n  "result": {}\n}';

interface HeldCardProps {
  readonly view: BreakpointView;
  readonly message: HeldMessage;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A text that the user writes: the message as it goes on, or an answer to it. */
interface Writing {
  readonly command: 'forwardHeld' | 'answerHeld';
  readonly text: string;
}

/** A held message, with what the user can do with it. */
export function HeldCard({ view, message, now }: HeldCardProps): JSX.Element {
  const { id, dir, kind, method, tool, messageId, client, state } = message;
  const writing = useSignal<Writing | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const title = `${KINDS[kind] ?? kind}: ${method}${tool === undefined ? '' : ` ${tool}`}`;
  const isHeld = state === 'held';
  const act = (command: Promise<unknown>): void => {
    problem.value = undefined;
    command.catch((error: unknown) => {
      problem.value = (error as Error).message;
    });
  };
  return (
    <article class="card held" data-held={id} aria-label={visible(title)}>
      <header class="toolbar">
        <h3>
          <Visible text={title} />
        </h3>
        <span class="badge">{dir === 'c>s' ? 'to the server' : 'to the client'}</span>
        {messageId !== undefined && (
          <span class="badge">
            id <Visible text={messageId} />
          </span>
        )}
        {client !== undefined && (
          <span class="badge">
            <Visible text={client} />
          </span>
        )}
        {state === 'cancelled' && <span class="badge bad">Cancelled</span>}
        {state === 'leaving' && <span class="badge">Goes on after those before it</span>}
      </header>
      <HeldTimes message={message} now={now} />
      {writing.value?.command !== 'forwardHeld' && <HeldContent server={view.server} id={id} />}
      {isHeld && !writing.value && <HeldButtons view={view} message={message} act={act} writing={writing} />}
      {state === 'cancelled' && (
        <p class="toolbar">
          <button type="button" onClick={() => act(view.server.send('dismissHeld', { id }))}>
            Dismiss
          </button>
        </p>
      )}
      {isHeld && writing.value && <Editor view={view} id={id} act={act} writing={writing} />}
      {problem.value !== undefined && (
        <p class="notice bad" role="alert">
          <Visible text={problem.value} lines />
        </p>
      )}
    </article>
  );
}

interface Actions {
  readonly view: BreakpointView;
  readonly act: (command: Promise<unknown>) => void;
  readonly writing: Signal<Writing | undefined>;
}

function HeldButtons({ view, message, act, writing }: Actions & { message: HeldMessage }): JSX.Element {
  const { id, kind } = message;
  const { server } = view;
  const delay = useSignal('1000');
  const edit = async (): Promise<void> => {
    const { text, length } = await server.send('heldMessage', { id, max: MAX_EDITED });
    const indented = length > MAX_EDITED ? undefined : inJson(JSON.stringify(JSON.parse(text), undefined, 2));
    if (indented === undefined || costOf(indented, MAX_EDITED) > MAX_EDITED)
      throw new Error('This message is too large to be edited here. You can forward, answer or drop it.');
    writing.value = { command: 'forwardHeld', text: indented };
  };
  return (
    <p class="toolbar">
      <button type="button" class="primary" data-key="c" onClick={() => act(server.send('forwardHeld', { id }))}>
        Forward
      </button>
      <button type="button" data-key="e" onClick={() => act(edit())}>
        Edit
      </button>
      {kind === 'request' && (
        <button
          type="button"
          data-key="a"
          onClick={() => {
            writing.value = { command: 'answerHeld', text: TEMPLATE };
          }}
        >
          Answer
        </button>
      )}
      <button type="button" data-key="x" onClick={() => act(server.send('dropHeld', { id }))}>
        Drop
      </button>
      <span class="held-delay">
        <button type="button" onClick={() => act(server.send('delayHeld', { id, ms: Number(delay.value) }))}>
          Forward in
        </button>
        <label class="inline">
          <input
            type="number"
            min={0}
            aria-label="Milliseconds until it goes on"
            value={delay.value}
            onInput={({ currentTarget }) => {
              delay.value = currentTarget.value;
            }}
          />
          ms
        </label>
      </span>
    </p>
  );
}

function Editor({ view, id, act, writing }: Actions & { id: number }): JSX.Element {
  const field = useId();
  const { command, text } = writing.value!;
  const isAnswer = command === 'answerHeld';
  return (
    <form
      class="call"
      onSubmit={(event) => {
        event.preventDefault();
        act(sendText(view, command, id, writing.value!.text));
      }}
    >
      <label for={field}>{isAnswer ? 'Answer, with "result" or "error"' : 'Message'}</label>
      {isAnswer && <p class="soft">Its sender gets the answer at once, before messages that are held.</p>}
      <textarea
        id={field}
        rows={10}
        spellcheck={false}
        value={text}
        ref={focusOnce}
        onInput={({ currentTarget }) => {
          writing.value = { command, text: currentTarget.value };
        }}
      />
      <p class="toolbar">
        <button type="submit" class="primary">
          {isAnswer ? 'Send answer' : 'Forward edited'}
        </button>
        <button
          type="button"
          onClick={() => {
            writing.value = undefined;
          }}
        >
          Cancel
        </button>
      </p>
    </form>
  );
}

/** @throws JsonMistake that says where the text is not JSON. */
async function sendText(view: BreakpointView, command: Writing['command'], id: number, text: string): Promise<void> {
  compactJson(text);
  await view.server.send(command, { id, text });
}

const focused = new WeakSet<Element>();

function focusOnce(field: HTMLTextAreaElement | null): void {
  if (!field || focused.has(field)) return;
  focused.add(field);
  field.focus();
}
