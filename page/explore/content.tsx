import type { ComponentChildren, JSX } from 'preact';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { AddressLink } from '../connect/address-link.tsx';
import { Visible } from '../ui/visible.tsx';
import { Binary } from './binary.tsx';
import { save } from './bytes.ts';
import { sizeText } from '../wire/format.ts';
import { textOf } from './entry-list.ts';
import { JsonView } from './json-view.tsx';
import { Text } from './text.tsx';

interface ContentProps {
  readonly block: unknown;
  /** Reads the resource of a link. */
  readonly onread?: ((uri: string) => void) | undefined;
}

/** A part of a result, of a prompt, or of a message to a model. All its strings are shown as text. */
export function Content({ block, onread }: ContentProps): JSX.Element {
  const shown = isObject(block) ? bodyOf(block, onread) : undefined;
  const type = isObject(block) ? textOf(block['type']) : undefined;
  return (
    <figure class="content">
      <figcaption>
        <Visible text={type?.replace('_', ' ') ?? 'malformed content'} />
        {isObject(block) && <Annotations annotations={block['annotations']} />}
      </figcaption>
      {shown ?? (
        <>
          <p class="notice warn">
            {type === undefined ? 'This content is malformed.' : 'The type of this content is unknown.'}
          </p>
          <JsonView value={block} label="Content" />
        </>
      )}
    </figure>
  );
}

function bodyOf(block: JsonObject, onread: ContentProps['onread']): ComponentChildren | undefined {
  const { type, text, data, resource, uri } = block;
  const mimeType = textOf(block['mimeType']);
  switch (type) {
    case 'text':
      return typeof text === 'string' ? <Text text={text} /> : undefined;
    case 'image':
    case 'audio':
      return typeof data === 'string' ? <Binary base64={data} name={type} mimeType={mimeType} /> : undefined;
    case 'resource_link':
      return typeof uri === 'string' ? <ResourceLink link={block} uri={uri} onread={onread} /> : undefined;
    case 'resource':
      return isObject(resource) ? <ResourceContents contents={resource} /> : undefined;
    case 'tool_use':
    case 'tool_result':
      return <JsonView value={block} label="Content" />;
    default:
      return undefined;
  }
}

/** The most annotations that are shown. MCP has three. The whole result has all. */
const MAX_ANNOTATIONS = 20;

/** The audience and the priority. */
function Annotations({ annotations }: { annotations: unknown }): JSX.Element | null {
  if (!isObject(annotations)) return null;
  return (
    <>
      {Object.entries(annotations)
        .slice(0, MAX_ANNOTATIONS)
        .map(([name, value]) => (
          <span class="badge" key={name}>
            <Visible text={`${name}: ${[value].flat().map(plainText).join(', ')}`} />
          </span>
        ))}
    </>
  );
}

/** Not by `String`, which calls `toString` of what a server sent. */
function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The contents of a resource: text, or bytes. */
export function ResourceContents({ contents }: { contents: JsonObject }): JSX.Element {
  const { text, blob } = contents;
  const mimeType = textOf(contents['mimeType']);
  const uri = textOf(contents['uri']) ?? 'resource';
  const body =
    typeof text === 'string' ? (
      <>
        <Text text={text} name={uri} />
        <p class="toolbar">
          <button type="button" onClick={() => save(new Blob([text]), uri)}>
            Save
          </button>
        </p>
      </>
    ) : typeof blob === 'string' ? (
      <Binary base64={blob} name={uri} mimeType={mimeType} />
    ) : (
      <JsonView value={contents} label="Content" />
    );
  return (
    <>
      <p>
        <code>
          <Visible text={uri} />
        </code>{' '}
        <span class="soft">
          <Visible text={mimeType ?? ''} />
        </span>
      </p>
      {body}
    </>
  );
}

interface ResourceLinkProps extends Pick<ContentProps, 'onread'> {
  readonly link: JsonObject;
  readonly uri: string;
}

function ResourceLink({ link, uri, onread }: ResourceLinkProps): JSX.Element {
  const { title, name, description, mimeType, size } = link;
  return (
    <>
      <p>
        <strong>
          <Visible text={textOf(title) ?? textOf(name) ?? uri} />
        </strong>{' '}
        <span class="soft">
          <Visible text={textOf(mimeType) ?? ''} /> {typeof size === 'number' && sizeText(size)}
        </span>
      </p>
      {typeof description === 'string' && (
        <p>
          <Visible text={description} lines />
        </p>
      )}
      {/^https?:/i.test(uri) ? (
        <AddressLink url={uri} />
      ) : (
        <code>
          <Visible text={uri} />
        </code>
      )}
      {onread && (
        <p class="toolbar">
          <button type="button" onClick={() => onread(uri)}>
            Read resource
          </button>
        </p>
      )}
    </>
  );
}
