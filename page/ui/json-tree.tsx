import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Text } from '../explore/text.tsx';
import { MAX_VALUES, parseJson, type JsonNode } from '../form/json-text.ts';
import { fitting, Visible } from './visible.tsx';

/** How many members of a value are shown at first, and how many more at each request of the user. */
const MEMBERS = 100;
/** The most characters of a string that are shown: at first, and at the user's wish. Those of escapes count too. */
const CHARACTERS = 400;
const WHOLE_CHARACTERS = 100_000;
/** How many rows are drawn at first, at most: as many whole levels as fit, and the outermost in any case. */
const OPEN_ROWS = 400;
/** The most levels that are open at first. Each level is drawn by recursion, and a browser's stack ends before 400. */
const OPEN_LEVELS = 50;

interface JsonTreeProps {
  /** The JSON text. Numbers and strings are shown as they are in it. */
  readonly text: string;
  /** The name of the tree for screen readers. */
  readonly label: string;
}

/**
 * A JSON document as a tree after the ARIA Authoring Practices. Long strings and arrays are folded. A text that is not
 * JSON is shown as it is, with what is wrong.
 */
export function JsonTree({ text, label }: JsonTreeProps): JSX.Element {
  const root = useMemo(() => read(text), [text]);
  const tree = useRef<HTMLUListElement>(null);
  if (root instanceof Error)
    return (
      <>
        <p class="notice warn">{root.message}</p>
        <Text text={text} />
      </>
    );
  return (
    <ul class="json" role="tree" aria-label={label} ref={tree} onKeyDown={(event) => moveFocus(event, tree.current!)}>
      <Value key={text} node={root} level={1} open={openLevels(root)} isFirst />
    </ul>
  );
}

function read(text: string): JsonNode | Error {
  try {
    return parseJson(text, MAX_VALUES);
  } catch (error) {
    return error as Error;
  }
}

/** The members of an object, in their order and with repeated names, or the items of a list. */
function membersOf(node: JsonNode): readonly { readonly name?: string; readonly node: JsonNode }[] | undefined {
  if (node.kind === 'object') return node.members;
  return node.kind === 'list' ? node.items.map((item) => ({ node: item })) : undefined;
}

/** How many levels are open at first. */
function openLevels(root: JsonNode): number {
  let rows = 1;
  let level = [root];
  for (let open = 0; open < OPEN_LEVELS; open += 1) {
    level = level.flatMap((node) => (membersOf(node) ?? []).slice(0, MEMBERS).map((member) => member.node));
    rows += level.length;
    if (rows > OPEN_ROWS) return Math.max(open, 1);
  }
  return OPEN_LEVELS;
}

interface ValueProps {
  readonly node: JsonNode;
  /** The name of a member, or the index of an item. */
  readonly label?: string | number;
  readonly level: number;
  /** How many levels are open at first. */
  readonly open: number;
  readonly isFirst?: boolean;
}

function Value({ node, label, level, open, isFirst = false }: ValueProps): JSX.Element {
  const members = useMemo(() => membersOf(node), [node]);
  const [isOpen, setOpen] = useState(level <= open);
  const [shown, setShown] = useState(MEMBERS);
  const isContainer = members !== undefined && members.length > 0;
  return (
    <li role="treeitem" aria-level={level} aria-expanded={isContainer ? isOpen : undefined} tabIndex={isFirst ? 0 : -1}>
      <div class="json-row" onClick={isContainer ? () => setOpen(!isOpen) : undefined}>
        {isContainer && <span class="json-fold" aria-hidden="true" />}
        {label !== undefined && (
          <>
            <span class={typeof label === 'number' ? 'json-index' : 'json-name'}>
              <Visible text={String(label)} max={CHARACTERS} />
            </span>
            <span class="json-colon">: </span>
          </>
        )}
        {members ? <Brackets kind={node.kind} count={members.length} isOpen={isOpen} /> : <Scalar node={node} />}
      </div>
      {isContainer && isOpen && (
        <ul role="group">
          {members.slice(0, shown).map((each, at) => (
            <Value key={at} node={each.node} label={each.name ?? at} level={level + 1} open={open} />
          ))}
          {members.length > shown && (
            <li role="treeitem" aria-level={level + 1} tabIndex={-1}>
              <button type="button" tabIndex={-1} class="json-more" onClick={() => setShown(shown + MEMBERS * 10)}>
                {members.length - shown} more
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

function Brackets({ kind, count, isOpen }: { kind: string; count: number; isOpen: boolean }): JSX.Element {
  const [open, close, one, many] = kind === 'object' ? ['{', '}', 'member', 'members'] : ['[', ']', 'item', 'items'];
  if (count === 0) return <span class="json-bracket">{open + close}</span>;
  return (
    <span class="json-bracket">
      {open}
      {!isOpen && `…${close}`} <span class="json-count">{`${count} ${count === 1 ? one : many}`}</span>
    </span>
  );
}

function Scalar({ node }: { node: JsonNode }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (node.kind !== 'string')
    return (
      <span class={`json-${node.kind}`}>
        <Visible text={node.source} />
      </span>
    );
  const content = node.value;
  const max = isWhole ? WHOLE_CHARACTERS : CHARACTERS;
  const shown = fitting(content, max, isWhole);
  const isCut = shown < content.length;
  return (
    <>
      <span class="json-string">
        "<Visible text={content} lines={isWhole} max={max} />
        {!isCut && '"'}
      </span>
      {isCut && isWhole && (
        <span class="json-count">
          {' '}
          the first {shown} of {content.length} characters
        </span>
      )}
      {isCut && !isWhole && (
        <button type="button" tabIndex={-1} class="json-more" onClick={() => setWhole(true)}>
          {content.length} characters
        </button>
      )}
    </>
  );
}

/** Arrows, Home and End move between what is visible. Right and left also open and close. */
function moveFocus(event: KeyboardEvent, tree: HTMLElement): void {
  const item = (event.target as Element).closest<HTMLElement>('[role=treeitem]');
  if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
  const items = [...tree.querySelectorAll<HTMLElement>('[role=treeitem]')];
  const at = items.indexOf(item);
  const expanded = item.getAttribute('aria-expanded');
  const fold = (): void => item.querySelector<HTMLElement>(':scope > .json-row')!.click();
  let next: HTMLElement | null | undefined;
  if (event.key === 'ArrowDown') next = items[at + 1];
  else if (event.key === 'ArrowUp') next = items[at - 1];
  else if (event.key === 'Home') next = items[0];
  else if (event.key === 'End') next = items.at(-1);
  else if (event.key === 'ArrowRight' && expanded === 'true') next = items[at + 1];
  else if (event.key === 'ArrowRight' && expanded === 'false') fold();
  else if (event.key === 'ArrowLeft' && expanded === 'true') fold();
  else if (event.key === 'ArrowLeft') next = item.parentElement!.closest<HTMLElement>('[role=treeitem]');
  else if (event.key === 'Enter' || event.key === ' ')
    item.querySelector<HTMLElement>(':scope > * > .json-more, :scope > .json-more')?.click();
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (!next) return;
  for (const each of items) each.tabIndex = each === next ? 0 : -1;
  next.focus();
}
