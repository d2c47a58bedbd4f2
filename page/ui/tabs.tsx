import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';

/** One tab. */
export interface Tab<Name extends string> {
  readonly name: Name;
  /** What follows the name, for example a count. The tabs do not move when it changes. */
  readonly extra?: ComponentChildren;
}

interface TabListProps<Name extends string> {
  /** The name of the list for screen readers. */
  readonly label: string;
  /** Begins the ids of the tabs and of their panels. */
  readonly id: string;
  readonly tabs: readonly Tab<Name>[];
  readonly selected: Name;
  readonly onselect: (name: Name) => void;
}

/**
 * Tabs after the ARIA Authoring Practices: one stop of the tab key, arrows, Home and End select. The caller renders
 * the panels, with `tabPanel`.
 */
export function TabList<Name extends string>(props: TabListProps<Name>): JSX.Element {
  const { label, id, tabs, selected, onselect } = props;
  const list = useRef<HTMLDivElement>(null);
  const select = (at: number): void => {
    onselect(tabs[at]!.name);
    list.current!.querySelectorAll<HTMLElement>('[role=tab]')[at]!.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = tabs.findIndex(({ name }) => name === selected);
    const next = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: (at + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    select(next);
  };
  return (
    <div role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map(({ name, extra }) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={tabId(id, name)}
          aria-selected={name === selected}
          aria-controls={panelId(id, name)}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onselect(name)}
        >
          {name}
          {extra !== undefined && extra !== false && <span class="tab-extra">{extra}</span>}
        </button>
      ))}
    </div>
  );
}

/** The attributes of the panel of a tab. */
export function tabPanel(id: string, name: string, selected: string): JSX.HTMLAttributes<HTMLDivElement> {
  return { role: 'tabpanel', id: panelId(id, name), 'aria-labelledby': tabId(id, name), hidden: name !== selected };
}

function tabId(id: string, name: string): string {
  return `${id}-tab-${name.toLowerCase()}`;
}

function panelId(id: string, name: string): string {
  return `${id}-panel-${name.toLowerCase()}`;
}
