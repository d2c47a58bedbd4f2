import type { JSX } from 'preact';
import { Visible } from '../ui/visible.tsx';
import { Calls } from './call-view.tsx';
import { EntryHead } from './entry-head.tsx';
import { SubscribeButton } from './resource.tsx';
import { TextArgumentFields, TextArguments } from './text-arguments.tsx';
import type { DetailProps } from './tool.tsx';
import { expand, variablesOf } from './uri-template.ts';

/** A resource template: its variables, and the resource that they make. */
export function TemplateView({ explorer, session, id, entry }: DetailProps): JSX.Element {
  const model = session.drafts.get(`template ${id}`, () => {
    const variables = variablesOf(id);
    return new TextArguments(
      variables.map(({ name, optional }) => ({ name, label: name, description: '', required: !optional })),
    );
  });
  const uri = expand(id, model.typed());
  const read = (): void => {
    if (model.complete()) session.call(`template ${id}`, 'resources/read', { uri });
  };
  const mimeType: unknown = entry?.raw['mimeType'];
  return (
    <>
      <EntryHead id={id} entry={entry}>
        {typeof mimeType === 'string' && (
          <span class="badge">
            <Visible text={mimeType} />
          </span>
        )}
      </EntryHead>
      <form
        class="call"
        onSubmit={(event) => {
          event.preventDefault();
          read();
        }}
      >
        <TextArgumentFields
          explorer={explorer}
          session={session}
          reference={{ type: 'ref/resource', uri: id }}
          model={model}
        />
        <p>
          URI{' '}
          <output class="mono">
            <Visible text={uri} />
          </output>
        </p>
        <p class="toolbar">
          <button type="submit" class="primary">
            Read
          </button>
          <SubscribeButton explorer={explorer} uri={uri} />
        </p>
      </form>
      <Calls explorer={explorer} session={session} entry={`template ${id}`} name={uri} />
    </>
  );
}
