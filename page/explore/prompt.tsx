import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { isObject } from '../../src/jsonrpc/message.ts';
import { Calls } from './call-view.tsx';
import { EntryHead } from './entry-head.tsx';
import { textOf } from './entry-list.ts';
import { TextArgumentFields, TextArguments, type TextArgument } from './text-arguments.tsx';
import type { DetailProps } from './tool.tsx';

/** A prompt: its arguments, and its messages. */
export function PromptView({ explorer, session, id, entry }: DetailProps): JSX.Element {
  const listed: unknown = entry?.raw['arguments'];
  const model = useMemo(
    () => session.drafts.get(`prompt ${id} ${JSON.stringify(listed)}`, () => new TextArguments(argumentsOf(listed))),
    [session, id, listed],
  );
  const get = (): void => {
    const values = model.complete();
    if (!values) return;
    const params = model.list.length > 0 ? { name: id, arguments: values } : { name: id };
    session.call(`prompt ${id}`, 'prompts/get', params);
  };
  return (
    <>
      <EntryHead id={id} entry={entry} />
      <form
        class="call"
        onSubmit={(event) => {
          event.preventDefault();
          get();
        }}
      >
        <TextArgumentFields
          explorer={explorer}
          session={session}
          reference={{ type: 'ref/prompt', name: id }}
          model={model}
        />
        <p class="toolbar">
          <button type="submit" class="primary">
            Get
          </button>
        </p>
      </form>
      <Calls explorer={explorer} session={session} entry={`prompt ${id}`} name={id} />
    </>
  );
}

function argumentsOf(list: unknown): TextArgument[] {
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).flatMap(({ name, title, description, required }) => {
    if (typeof name !== 'string') return [];
    return [
      { name, label: textOf(title) ?? name, description: textOf(description) ?? '', required: required === true },
    ];
  });
}
