import type { StandardSchemaV1 } from '@standard-schema/spec';
import { complaint } from '../schema/complaint.ts';
import { InvalidResultError } from './errors.ts';

export { PlainSchema } from '../schema/plain-schema.ts';

/** @throws InvalidResultError that says what is wrong. `what` names the checked value. */
export function refuse(name: string, what: string, issues: readonly StandardSchemaV1.Issue[]): never {
  throw new InvalidResultError(`The result of the tool ${name} ${what}: ${complaint(issues)}`);
}
