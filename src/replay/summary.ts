import type { Comparison } from './compare.ts';

/** How many requests differ: `2 of 8 requests differ`. Reports and the page of the inspector have the same words. */
export function summaryOf({ counts, differs }: Comparison): string {
  const { same, changed, missing, new: added } = counts;
  const differing = changed + missing + added;
  const all = same + differing;
  if (differing > 0) return `${differing} of ${countText(all)} ${differing === 1 ? 'differs' : 'differ'}`;
  return `no differences in ${countText(all)}${differs ? ', but outside of them' : ''}`;
}

/** How many requests have which outcome. */
export function countsOf({ counts }: Comparison): string {
  return `${counts.same} same, ${counts.changed} changed, ${counts.missing} missing, ${counts.new} new`;
}

function countText(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`;
}
