import { createHash } from 'node:crypto';
import { ErrorCode, RpcError, type JsonObject, type McpServer } from 'everwire/server';

/**
 * Two skills, served with the extension `io.modelcontextprotocol/skills` (SEP-2640): their files are resources, and
 * middleware answers the methods that list them.
 */

const EXTENSION = 'io.modelcontextprotocol/skills';
const DIRECTORY = 'inode/directory';
/** The cache hints of a list: the files of this process never change. */
const FRESH = { ttlMs: 300_000, cacheScope: 'public' } as const;

interface Skill {
  readonly root: string;
  readonly frontmatter: { readonly name: string; readonly description: string; readonly license?: string };
  /** Markdown by path, without the frontmatter of SKILL.md. */
  readonly files: Readonly<Record<string, string>>;
}

const SKILLS: readonly Skill[] = [
  {
    root: 'skill://git-workflow',
    frontmatter: { name: 'git-workflow', description: 'Branches and commits the way this team does it' },
    files: {
      'SKILL.md': '# Git workflow\n\nTake the fitting template from `templates/`.\n',
      'references/BRANCHES.md': '# Branches\n\nOne branch for each change.\n',
      'templates/commit.md': '# Commit message\n\nOne sentence in the imperative.\n',
    },
  },
  {
    root: 'skill://acme/billing/refunds',
    frontmatter: { name: 'refunds', description: 'Refunds a purchase by the rules', license: 'MIT' },
    files: {
      'SKILL.md': '# Refunds\n\nWrite to the customer as in `examples/email.md`.\n',
      'examples/email.md': 'Your money is on its way.\n',
    },
  },
];

/** The page size, so that callers must read several pages. */
const PAGE = 1;

export function registerSkills(server: McpServer): void {
  const entries = new Map<string, JsonObject>();
  const directories = new Map<string, JsonObject[]>();

  for (const { root, frontmatter, files } of SKILLS) {
    const resources = Object.entries(files).map(([path, body]) => {
      const uri = `${root}/${path}`;
      const isManifest = path === 'SKILL.md';
      const text = isManifest ? manifest(frontmatter, body) : body;
      const name = isManifest ? frontmatter.name : path.slice(path.lastIndexOf('/') + 1);
      const about = { name, mimeType: 'text/markdown', ...(isManifest && { description: frontmatter.description }) };
      server.resource(uri, { ...about, ...FRESH }, () => text);
      place(directories, root, uri, about);
      const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
      return { uri, digest, size: Buffer.byteLength(text) };
    });
    const uri = `${root}/SKILL.md`;
    entries.set(uri, { uri, frontmatter, resources });
  }

  server.use((next) => async (exchange) => {
    const { method, params } = exchange;
    switch (method) {
      case 'server/discover':
        return declared(await next(exchange));
      case 'skills/list':
        return { ...page('skills', [...entries.values()], params['cursor']), ...FRESH };
      case 'skills/get':
        return { skill: known(entries, params['uri'], 'is no skill of this server'), ...FRESH };
      case 'resources/directory/read':
        return page('resources', known(directories, params['uri'], 'is not a directory'), params['cursor']);
      default:
        return next(exchange);
    }
  });
}

/** All values are plain words, so that YAML needs no quotes. */
function manifest(frontmatter: Skill['frontmatter'], body: string): string {
  const lines = Object.entries(frontmatter).map(([key, value]) => `${key}: ${value}\n`);
  return `---\n${lines.join('')}---\n\n${body}`;
}

/** Adds a file to its folder, that folder to its parent, and so on up to the root of the skill. */
function place(directories: Map<string, JsonObject[]>, root: string, uri: string, about: JsonObject): void {
  const parent = uri.slice(0, uri.lastIndexOf('/'));
  const children = directories.get(parent);
  if (children) {
    children.push({ uri, ...about });
    return;
  }
  directories.set(parent, [{ uri, ...about }]);
  if (parent !== root) {
    place(directories, root, parent, { name: parent.slice(parent.lastIndexOf('/') + 1), mimeType: DIRECTORY });
  }
}

function declared(description: JsonObject): JsonObject {
  const { capabilities } = description;
  const extensions = { ...capabilities['extensions'], [EXTENSION]: { directoryRead: true } };
  return { ...description, capabilities: { ...capabilities, extensions } };
}

/** @throws RpcError −32602 if the URI is unknown */
function known<T>(all: ReadonlyMap<string, T>, uri: unknown, otherwise: string): T {
  const found = typeof uri === 'string' ? all.get(uri) : undefined;
  if (found === undefined) throw new RpcError(ErrorCode.InvalidParams, `${String(uri)} ${otherwise}`);
  return found;
}

/** One page of a list. The cursor is the index of its first entry. */
function page(name: string, all: readonly JsonObject[], cursor: unknown): JsonObject {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0 || start > all.length)
    throw new RpcError(ErrorCode.InvalidParams, 'Invalid cursor');
  const end = start + PAGE;
  return { [name]: all.slice(start, end), ...(end < all.length && { nextCursor: String(end) }) };
}
