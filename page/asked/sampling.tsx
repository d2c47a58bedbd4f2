import { signal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { contentPortion } from '../explore/content-portion.ts';
import { Disclosure } from '../explore/disclosure.tsx';
import { JsonView } from '../explore/json-view.tsx';
import { MessageView } from '../explore/outcome-view.tsx';
import { Text } from '../explore/text.tsx';
import { Portions } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import type { QuestionProps } from './questions.tsx';

const STOP_REASONS = ['endTurn', 'stopSequence', 'maxTokens'];

/** The answer while the user writes it. */
interface Draft {
  readonly text: Signal<string>;
  readonly model: Signal<string>;
  readonly stopReason: Signal<string>;
  /** The whole answer as JSON text. Undefined while it is written in fields. */
  readonly raw: Signal<string | undefined>;
}

function newDraft(): Draft {
  return { text: signal(''), model: signal('a person'), stopReason: signal('endTurn'), raw: signal(undefined) };
}

function answerOf({ text, model, stopReason }: Draft): JsonObject {
  const content = { type: 'text', text: text.value };
  return { role: 'assistant', content, model: model.value, stopReason: stopReason.value };
}

/** A sampling request. The user writes the message in place of a model. */
export function Sampling({ explorer, question, onanswer }: QuestionProps): JSX.Element {
  const { params, key } = question;
  const draft = explorer.drafts.get(key, newDraft);
  const raw = draft.raw.value;
  const result = raw === undefined ? answerOf(draft) : objectOf(raw);
  const { messages, systemPrompt } = params;
  return (
    <form
      class="call"
      onSubmit={(event) => {
        event.preventDefault();
        if (result) onanswer({ result });
      }}
    >
      {typeof systemPrompt === 'string' && (
        <section class="message">
          <h4>System prompt</h4>
          <Text text={systemPrompt} />
        </section>
      )}
      {Array.isArray(messages) && (
        <Portions items={messages as unknown[]} portion={contentPortion}>
          {(message, at) => <MessageView key={at} message={message} />}
        </Portions>
      )}
      <Wishes params={params} />
      <AnswerFields draft={draft} />
      {raw !== undefined && !result && <p class="bad">The answer must be a JSON object.</p>}
      <p class="toolbar">
        <button type="submit" class="primary">
          Send answer
        </button>
        <button type="button" onClick={() => onanswer({ refusal: 'User rejected sampling request' })}>
          Decline
        </button>
        <label class="inline">
          <input
            type="checkbox"
            checked={raw !== undefined}
            onChange={({ currentTarget }) => {
              draft.raw.value = currentTarget.checked ? JSON.stringify(answerOf(draft), undefined, 2) : undefined;
            }}
          />
          As JSON
        </label>
      </p>
    </form>
  );
}

function AnswerFields({ draft }: { draft: Draft }): JSX.Element {
  const id = useId();
  if (draft.raw.value !== undefined) {
    return (
      <>
        <label for={`${id}-raw`}>Answer</label>
        <textarea
          id={`${id}-raw`}
          rows={8}
          spellcheck={false}
          value={draft.raw.value}
          onInput={({ currentTarget }) => {
            draft.raw.value = currentTarget.value;
          }}
        />
      </>
    );
  }
  return (
    <>
      <label for={`${id}-text`}>Answer</label>
      <textarea
        id={`${id}-text`}
        rows={4}
        value={draft.text.value}
        onInput={({ currentTarget }) => {
          draft.text.value = currentTarget.value;
        }}
      />
      <p class="toolbar">
        <label class="inline">
          Model
          <input
            value={draft.model.value}
            onInput={({ currentTarget }) => {
              draft.model.value = currentTarget.value;
            }}
          />
        </label>
        <label class="inline">
          Stop reason
          <select
            value={draft.stopReason.value}
            onChange={({ currentTarget }) => {
              draft.stopReason.value = currentTarget.value;
            }}
          >
            {STOP_REASONS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </p>
    </>
  );
}

const WISHES = [
  ['maxTokens', 'Max. tokens'],
  ['temperature', 'Temperature'],
  ['stopSequences', 'Stop sequences'],
  ['includeContext', 'Context'],
  ['modelPreferences', 'Model preferences'],
  ['toolChoice', 'Tool choice'],
  ['metadata', 'Metadata'],
] as const;

/** The server's settings for the model, and the tools that it offers. */
function Wishes({ params }: { params: JsonObject }): JSX.Element {
  const tools: unknown = params['tools'];
  return (
    <>
      <dl class="facts">
        {WISHES.filter(([name]) => params[name] !== undefined).map(([name, label]) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd class="mono">
              <Visible text={typeof params[name] === 'string' ? params[name] : JSON.stringify(params[name])} />
            </dd>
          </div>
        ))}
      </dl>
      {Array.isArray(tools) && (
        <Disclosure title={`${tools.length} tools that the model may call`}>
          {() => <JsonView value={tools} label="Tools" />}
        </Disclosure>
      )}
    </>
  );
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
