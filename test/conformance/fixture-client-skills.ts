import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Client, JsonObject } from 'everwire/client';

/** A skill in a server's list (SEP-2640: the extension `io.modelcontextprotocol/skills`). */
interface SkillEntry {
  readonly uri: string;
  readonly frontmatter: JsonObject;
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[];
}

/**
 * Loads all skills of a server as a host does: first the manifest, then the files, and checks each file against its
 * entry.
 *
 * @throws Error if a file does not match
 */
export async function loadSkills(client: Client): Promise<void> {
  const { skills } = await client.request('skills/list');
  for (const { uri, frontmatter, resources } of skills as SkillEntry[]) {
    const files = resources.toSorted((a, b) => Number(b.uri === uri) - Number(a.uri === uri));
    for (const file of files) {
      const text = await readVerified(client, file);
      if (file.uri === uri && !isDeepStrictEqual(frontmatterOf(text), frontmatter)) {
        throw new Error(`The frontmatter of ${uri} is not that of its entry`);
      }
    }
  }
}

async function readVerified(client: Client, { uri, digest, size }: SkillEntry['resources'][number]): Promise<string> {
  const { contents } = await client.readResource(uri);
  const [content] = contents;
  if (content === undefined || !('text' in content)) throw new Error(`${uri} is no text`);
  const bytes = Buffer.from(content.text);
  if (bytes.length !== size) throw new Error(`${uri} has ${bytes.length} bytes, not ${size}`);
  if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` !== digest) {
    throw new Error(`${uri} is not what its digest says`);
  }
  return content.text;
}

/** The frontmatter of the suite's skills: one line of text for each field. */
function frontmatterOf(text: string): Record<string, string> {
  const [, block = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
  return Object.fromEntries(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
}
