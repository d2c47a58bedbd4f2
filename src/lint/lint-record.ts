import type { RequestId } from '../jsonrpc/message.ts';

/** The fields of a record that the linter needs. Every `WireRecord` has them. */
export interface LintRecord {
  readonly n: number;
  readonly layer: string;
  readonly conn?: number | undefined;
  readonly dir?: string | undefined;
  readonly range?: readonly number[] | undefined;
  readonly bytes?: Uint8Array | undefined;
  readonly exchange?: number | undefined;
  readonly note?: string | undefined;
  readonly protocol?: string | undefined;
  readonly role?: string | undefined;
  readonly kind?: string | undefined;
  readonly id?: RequestId | undefined;
  readonly method?: string | undefined;
}
