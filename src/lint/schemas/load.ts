import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';
import { RevisionSchema } from './revision-schema.ts';

const SOURCES: Readonly<Record<Revision, () => Promise<{ readonly schema: string }>>> = {
  '2024-11-05': () => import('./schema-2024-11-05.ts'),
  '2025-03-26': () => import('./schema-2025-03-26.ts'),
  '2025-06-18': () => import('./schema-2025-06-18.ts'),
  '2025-11-25': () => import('./schema-2025-11-25.ts'),
  '2026-07-28': () => import('./schema-2026-07-28.ts'),
};

/** Each revision's schema is loaded by its first message. */
const loaded = new Map<Revision, Promise<RevisionSchema>>();

/** The specification's schema of a revision. */
export function loadSchema(revision: Revision): Promise<RevisionSchema> {
  let schema = loaded.get(revision);
  if (!schema) loaded.set(revision, (schema = load(revision)));
  return schema;
}

async function load(revision: Revision): Promise<RevisionSchema> {
  const { schema } = await SOURCES[revision]();
  return new RevisionSchema(revision, JSON.parse(schema) as JsonObject);
}
