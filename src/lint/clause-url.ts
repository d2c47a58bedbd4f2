import type { Finding } from './rule.ts';

/** The page of the specification with the clause of a finding. */
export function clauseUrl({ revision, clause }: Pick<Finding, 'revision' | 'clause'>): string {
  const [page = ''] = clause.split(/[ ;]/);
  return `https://modelcontextprotocol.io/specification/${revision}/${page}`;
}
