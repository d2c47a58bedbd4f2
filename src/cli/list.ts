import type { Client } from '../client/client.ts';
import type { RequestOptions } from '../client/options.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { Prompt, Resource, ResourceTemplate, Tool } from '../protocol/types.ts';
import type { Work } from './with-client.ts';
import { Failure } from './failure.ts';
import { bytes, wordsOf } from './screen.ts';
import { suggestion } from '../base/nearest.ts';
import { MAX_ARGUMENTS, ToolSchema } from './tool-schema.ts';

/** One kind of list. */
interface List {
  readonly title: string;
  /** The capability that a server declares for it. */
  readonly capability: string;
  /** Its key in the JSON output. */
  readonly key: string;
  readonly get: (client: Client, limits: RequestOptions) => Promise<Listed>;
}

interface Listed {
  readonly entries: readonly unknown[];
  /** The text output. */
  readonly rows: readonly unknown[][];
}

const NONE: Listed = { entries: [], rows: [] };

function listed<Entry>(row: (entry: Entry) => unknown[]): (entries: Entry[]) => Listed {
  return (entries) => ({ entries, rows: entries.map(row) });
}

const toolRows = listed((tool: Tool) => [tool.name, signature(tool), tool.description ?? tool.title]);

const resourceRows = listed(({ uri, mimeType = '', size, name, title, description }: Resource) => {
  const kind = !Number.isFinite(size) ? mimeType : `${wordsOf(mimeType)} ${bytes(size!)}`.trim();
  return [uri, kind, described(title ?? name, description)];
});

const templateRows = listed(({ uriTemplate, mimeType = '', name, title, description }: ResourceTemplate) => {
  return [uriTemplate, mimeType, described(title ?? name, description)];
});

const promptRows = listed(({ name, arguments: args, description, title }: Prompt) => {
  return [name, (args ?? []).map((arg) => `${arg.name}${arg.required ? '' : '?'}`).join(', '), description ?? title];
});

const LISTS: Readonly<Record<string, List>> = {
  tools: {
    title: 'Tools',
    capability: 'tools',
    key: 'tools',
    get: async (client, limits) => toolRows(await client.listTools(limits)),
  },
  resources: {
    title: 'Resources',
    capability: 'resources',
    key: 'resources',
    get: async (client, limits) => resourceRows(await client.listResources(limits)),
  },
  templates: {
    title: 'Resource templates',
    capability: 'resources',
    key: 'resourceTemplates',
    get: async (client, limits) => templateRows(await client.listResourceTemplates(limits)),
  },
  prompts: {
    title: 'Prompts',
    capability: 'prompts',
    key: 'prompts',
    get: async (client, limits) => promptRows(await client.listPrompts(limits)),
  },
};

/** `everwire list`: lists what a server offers: all kinds, or only the named ones. */
export function list(rest: readonly string[]): Work {
  const known = Object.keys(LISTS);
  const unknown = rest.find((word) => !known.includes(word));
  if (unknown !== undefined) {
    throw Failure.usage(
      `there is no list of ${JSON.stringify(unknown)}${suggestion(unknown, known)}; there are ${known.join(', ')}`,
    );
  }
  return async ({ client, output, signal }) => {
    const found: Record<string, readonly unknown[]> = {};
    for (const [name, { title, capability, key, get }] of Object.entries(LISTS)) {
      if (rest.length > 0 ? !rest.includes(name) : client.serverCapabilities[capability] === undefined) continue;
      const { entries, rows } = await get(client, { signal }).catch((error: unknown) => {
        // Resources and templates have one capability, and many servers have no templates.
        if (name === 'templates' && rest.length === 0 && isUnknownMethod(error)) return NONE;
        throw error;
      });
      found[key] = entries;
      if (output.json || (rows.length === 0 && rest.length === 0)) continue;
      if (rest.length !== 1) await output.text(title);
      await output.table(rows);
    }
    if (output.json) await output.value(found);
  };
}

function isUnknownMethod(error: unknown): boolean {
  return error instanceof RpcError && error.code === ErrorCode.MethodNotFound;
}

/** `a: integer, b?: string` */
function signature({ inputSchema }: Tool): string {
  const schema = new ToolSchema(inputSchema);
  const { required } = schema;
  const all = [...schema.properties];
  const shown = all.slice(0, MAX_ARGUMENTS).map(([name, property]) => {
    return `${name}${required.has(name) ? '' : '?'}: ${property.describe()}`;
  });
  if (all.length > MAX_ARGUMENTS) shown.push(`and ${all.length - MAX_ARGUMENTS} more`);
  return shown.join(', ');
}

function described(title: unknown, description: unknown): string {
  return [title, description].map(wordsOf).filter(Boolean).join(': ');
}
