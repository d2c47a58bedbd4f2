import { signal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { isObject } from '../../src/jsonrpc/message.ts';
import { Portions } from '../ui/portions.tsx';
import { ArgumentField } from './argument-field.tsx';
import { complete, type Reference } from './completion.ts';
import type { Explorer, Session } from './explorer.ts';

/** An argument of a prompt, or a variable of a template. */
export interface TextArgument {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly required: boolean;
}

/** Arguments that are strings, as the user types them. */
export class TextArguments {
  readonly list: readonly TextArgument[];
  readonly attempted = signal(false);
  readonly #values: ReadonlyMap<string, Signal<string>>;

  constructor(list: readonly TextArgument[]) {
    this.list = list;
    this.#values = new Map(list.map(({ name }) => [name, signal('')]));
  }

  value(name: string): Signal<string> {
    return this.#values.get(name)!;
  }

  /** What was typed. An empty value counts as none. */
  typed(): Record<string, string> {
    const values = [...this.#values].map(([name, { value }]) => [name, value] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== ''));
  }

  /** Undefined if a required argument is missing. */
  complete(): Record<string, string> | undefined {
    this.attempted.value = true;
    const typed = this.typed();
    return this.list.every(({ name, required }) => !required || Object.hasOwn(typed, name)) ? typed : undefined;
  }
}

interface TextArgumentFieldsProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly reference: Reference;
  readonly model: TextArguments;
}

/** A field for each argument. */
export function TextArgumentFields({ explorer, session, reference, model }: TextArgumentFieldsProps): JSX.Element {
  const hasCompletion = isObject(explorer.state.value.connection.discovered?.['capabilities']?.['completions']);
  return (
    <Portions items={model.list}>
      {(argument, at) => {
        const { name } = argument;
        const suggest = (value: string): Promise<readonly string[]> => {
          const { [name]: _own, ...others } = model.typed();
          return complete(session, reference, { name, value }, others);
        };
        return (
          <ArgumentField
            key={at}
            {...argument}
            value={model.value(name)}
            attempted={model.attempted.value}
            complete={hasCompletion ? suggest : undefined}
          />
        );
      }}
    </Portions>
  );
}
