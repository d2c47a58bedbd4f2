import { signal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { isObject } from '../../src/jsonrpc/message.ts';
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

/** Arguments that are strings, as a person types them. */
export class TextArguments {
  readonly values = new Map<string, Signal<string>>();
  readonly attempted = signal(false);

  value(name: string): Signal<string> {
    let value = this.values.get(name);
    if (!value) this.values.set(name, (value = signal('')));
    return value;
  }

  /** What was typed. An empty value is none. */
  typed(): Record<string, string> {
    return Object.fromEntries(
      [...this.values].map(([name, { value }]) => [name, value]).filter(([, value]) => value !== ''),
    );
  }

  /** Undefined if a required argument is missing. */
  complete(list: readonly TextArgument[]): Record<string, string> | undefined {
    this.attempted.value = true;
    const typed = this.typed();
    return list.every(({ name, required }) => !required || typed[name] !== undefined) ? typed : undefined;
  }
}

interface TextArgumentFieldsProps {
  readonly explorer: Explorer;
  readonly session: Session;
  readonly reference: Reference;
  readonly list: readonly TextArgument[];
  readonly model: TextArguments;
}

/** A field for each argument. */
export function TextArgumentFields({
  explorer,
  session,
  reference,
  list,
  model,
}: TextArgumentFieldsProps): JSX.Element {
  const hasCompletion = isObject(explorer.state.value.connection.discovered?.['capabilities']?.['completions']);
  return (
    <>
      {list.map((argument) => {
        const { [argument.name]: _own, ...others } = model.typed();
        return (
          <ArgumentField
            key={argument.name}
            {...argument}
            value={model.value(argument.name)}
            attempted={model.attempted.value}
            complete={
              hasCompletion
                ? (value) => complete(session, reference, { name: argument.name, value }, others)
                : undefined
            }
          />
        );
      })}
    </>
  );
}
