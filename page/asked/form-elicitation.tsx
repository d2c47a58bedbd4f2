import type { JSX } from 'preact';
import { JsonView } from '../explore/json-view.tsx';
import { ArgumentText } from '../explore/arguments.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { Message, Refusals, type QuestionProps } from './questions.tsx';

/** A form that the person is asked to fill in. */
export function FormElicitation({ explorer, question, onanswer }: QuestionProps): JSX.Element {
  const { params, key } = question;
  const model = explorer.drafts.get(key, () => new ArgumentText());
  return (
    <form
      class="call"
      onSubmit={(event) => {
        event.preventDefault();
        const json = model.json.value;
        if (json !== undefined) onanswer({ result: { action: 'accept', content: JSON.parse(json) as JsonObject } });
      }}
    >
      <Message params={params} />
      <JsonView value={params['requestedSchema']} />
      <textarea
        aria-label="Answer"
        value={model.text.value}
        onInput={({ currentTarget }) => {
          model.text.value = currentTarget.value;
        }}
      />
      <Refusals onanswer={onanswer}>
        <button type="submit" class="primary">
          Accept
        </button>
      </Refusals>
    </form>
  );
}
