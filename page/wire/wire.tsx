import { type Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks';
import type { InspectorState } from '../../src/inspect/page-server/page-api.ts';
import type { BreakpointView } from '../breakpoints/breakpoint-view.ts';
import { CompareAction } from '../compare/compare-action.tsx';
import type { CompareView } from '../compare/compare-view.ts';
import { ExportAction } from '../export/export-action.tsx';
import { RecordActions } from '../breakpoints/record-actions.tsx';
import { theme } from '../ui/color-theme.ts';
import { useCommands, type Command } from '../ui/commands.ts';
import { Detail } from './detail.tsx';
import { FILTER_ID, FilterBox } from './filter-box.tsx';
import { countText } from './format.ts';
import { WireGrid } from './grid.tsx';
import { LAYERS, namesLayers, type LayerGroup } from './layers.ts';
import type { RecordStore } from './record-store.ts';
import { Strip } from './strip.tsx';
import type { WireView } from './wire-view.ts';
import type { Wire } from './wire.ts';

interface WireScreenProps {
  readonly wire: Wire;
  readonly state: Signal<InspectorState>;
  readonly breakpoints: BreakpointView;
  readonly compare: CompareView;
  readonly visible: boolean;
}

/** The records of the wire, live. */
export function WireScreen({ wire, state, breakpoints, compare, visible }: WireScreenProps): JSX.Element {
  const { store, view, source, lint } = wire;
  useUpdates(view, source.version, visible);
  const found = lint.version.value;
  useEffect(() => view.updateFindings(), [view, found]);
  useCommands(
    useMemo(() => wireCommands(view), [view]),
    visible,
  );
  const selected = view.selected.value;
  return (
    <div class="wire">
      <h2 class="visually-hidden">Wire</h2>
      <div class="wire-bar">
        <FilterBox names={{ ...store.names, rule: lint.findings.ruleIds }} view={view} ondone={focusGrid} />
        <Controls store={store} view={view} isLive={state.value.role !== 'recording'}>
          <ExportAction wire={wire} name={state.value.target ?? 'Everwire'} visible={visible} />
        </Controls>
        <LayerButtons view={view} />
      </div>
      <Strip store={store} view={view} theme={theme.value} />
      <div class="wire-split" data-detail={selected !== undefined}>
        <div class="wire-list">
          <WireGrid store={store} lint={lint} view={view} onenter={focusDetail} />
          <EmptyGrid store={store} view={view} />
        </div>
        {selected && (
          <Detail
            record={selected}
            store={store}
            lint={lint}
            view={view}
            started={source.started}
            actions={
              <>
                <RecordActions record={selected} store={store} view={breakpoints} visible={visible} />
                <CompareAction record={selected} view={compare} visible={visible} />
              </>
            }
          />
        )}
      </div>
    </div>
  );
}

/** Shows new records once in each animation frame, and only while the screen is visible. */
function useUpdates(view: WireView, version: { readonly value: number }, visible: boolean): void {
  const current = version.value;
  // Before the next key, which may go to a record.
  useLayoutEffect(() => {
    if (visible) view.update();
  }, [view, visible]);
  useEffect(() => {
    if (!visible) return undefined;
    const frame = requestAnimationFrame(() => view.update());
    return () => cancelAnimationFrame(frame);
  }, [view, current, visible]);
}

interface ControlsProps {
  readonly store: RecordStore;
  readonly view: WireView;
  readonly isLive: boolean;
  readonly children: ComponentChildren;
}

function Controls({ store, view, isLive, children }: ControlsProps): JSX.Element {
  void view.version.value;
  const paused = view.pausedAt.value;
  return (
    <div class="toolbar wire-controls">
      <span class="wire-count" title="Records that are shown, and all that are in memory">
        {countText(view.rows.length)} of {countText(store.records.length)}
      </span>
      {isLive && (
        <>
          <button
            type="button"
            aria-pressed={view.follow.value}
            onClick={() => {
              view.follow.value = !view.follow.value;
            }}
          >
            Follow
          </button>
          <button type="button" aria-pressed={paused !== undefined} onClick={() => view.togglePause()}>
            {paused === undefined ? 'Pause' : `Paused, ${countText(store.newest - paused)} new`}
          </button>
        </>
      )}
      {children}
    </div>
  );
}

function LayerButtons({ view }: { view: WireView }): JSX.Element {
  const isNamed = namesLayers(view.filter.value);
  return (
    <div class="segments" role="group" aria-label="Layers">
      {(Object.keys(LAYERS) as LayerGroup[]).map((group) => (
        <button
          key={group}
          type="button"
          aria-pressed={view.groups.value.has(group)}
          disabled={isNamed}
          title={isNamed ? 'The filter selects the layers' : undefined}
          onClick={() => view.toggleGroup(group)}
        >
          {group}
        </button>
      ))}
    </div>
  );
}

/** Why there are no rows. */
function EmptyGrid({ store, view }: { store: RecordStore; view: WireView }): JSX.Element | null {
  void view.version.value;
  if (view.rows.length > 0 || view.isBusy) return null;
  const { length } = store.records;
  const text =
    length === 0
      ? 'Nothing has been recorded yet.'
      : view.filter.value === ''
        ? `All ${countText(length)} records are in hidden layers. Select more layers to show them.`
        : `None of the ${countText(length)} records matches the filter. Change the filter, or select more layers.`;
  return <p class="empty wire-empty">{text}</p>;
}

function wireCommands(view: WireView): readonly Command[] {
  const jump = (to: 'request' | 'answer'): void => {
    const span = view.selected.value?.spans[0];
    const n = to === 'request' ? span?.records[0] : span?.answer;
    if (n !== undefined) view.reveal(n);
  };
  return [
    { title: 'Edit the filter', keys: '/', run: () => document.getElementById(FILTER_ID)!.focus() },
    { title: 'Clear the filter', run: () => view.setFilter('') },
    { title: 'Next record', keys: 'j', run: () => view.move(1) },
    { title: 'Previous record', keys: 'k', run: () => view.move(-1) },
    { title: 'Go to the request', keys: '[', run: () => jump('request') },
    { title: 'Go to the response', keys: ']', run: () => jump('answer') },
    { title: 'Mark the record', keys: 'm', run: () => view.toggleMark() },
    { title: 'Next mark', keys: 'n', run: () => view.nextMark() },
    { title: 'Follow the newest record', keys: 'f', run: () => void (view.follow.value = !view.follow.value) },
    { title: 'Pause or resume', keys: 'p', run: () => view.togglePause() },
    { title: 'Go to the records', run: focusGrid },
    ...(Object.keys(LAYERS) as LayerGroup[]).map((group) => ({
      title: `Show or hide ${group}`,
      run: () => view.toggleGroup(group),
    })),
  ];
}

function focusGrid(): void {
  document.querySelector<HTMLElement>('.wire-grid')!.focus();
}

function focusDetail(): void {
  document.querySelector<HTMLElement>('.wire-detail [role=tab][aria-selected=true]')!.focus();
}
