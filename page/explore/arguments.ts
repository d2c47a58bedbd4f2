import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { isObject } from '../../src/jsonrpc/message.ts';

/** The arguments of a tool as a person types them. */
export class ArgumentText {
  readonly text: Signal<string>;
  /** Undefined while the text is not a JSON object. */
  readonly json: ReadonlySignal<string | undefined>;
  /** What is wrong with the text. */
  readonly problem: ReadonlySignal<string | undefined>;

  constructor(initial = '{}') {
    this.text = signal(initial);
    this.problem = computed(() => {
      try {
        return isObject(JSON.parse(this.text.value)) ? undefined : 'The arguments must be a JSON object.';
      } catch (error) {
        return (error as Error).message;
      }
    });
    this.json = computed(() => (this.problem.value === undefined ? this.text.value : undefined));
  }
}
