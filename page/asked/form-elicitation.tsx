import type { JSX } from 'preact';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { FormModel } from '../form/form-model.ts';
import { FormMistakes, SchemaForm } from '../form/schema-form.tsx';
import { Message, Refusals, type QuestionProps } from './questions.tsx';

/** A form that the server asks the user to fill in. */
export function FormElicitation({ explorer, question, onanswer }: QuestionProps): JSX.Element {
  const { params, key } = question;
  const form = explorer.drafts.get(key, () => new FormModel(params['requestedSchema']));
  const accept = (json: string): void => {
    onanswer({ result: { action: 'accept', content: JSON.parse(json) as JsonObject } });
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const json = form.submit();
    if (json !== undefined) accept(json);
  };
  return (
    <form
      class="call"
      noValidate
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
      }}
    >
      <Message params={params} />
      <SchemaForm form={form} label="Answer" />
      <FormMistakes form={form} label="Accept anyway" onSend={accept} />
      <Refusals onanswer={onanswer}>
        <button type="submit" class="primary">
          Accept
        </button>
      </Refusals>
    </form>
  );
}
