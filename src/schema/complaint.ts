import type { StandardSchemaV1 } from '@standard-schema/spec';
import { shortText } from '../base/short-text.ts';

/** Describes in one line what is wrong with a value, argument by argument: `a: must be integer; b: is missing`. */
export function complaint(issues: readonly StandardSchemaV1.Issue[]): string {
  const shown = issues.slice(0, 10).map(({ path, message }) => {
    const where = path?.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
    return where ? `${shortText(where)}: ${message}` : message;
  });
  if (issues.length > shown.length) shown.push(`and ${issues.length - shown.length} more`);
  return shown.join('; ');
}
