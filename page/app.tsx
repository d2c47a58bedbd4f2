import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { AuthScreen } from './auth/auth-screen.tsx';
import { openQuestions } from './asked/open-question.ts';
import { AskedScreen } from './asked/asked.tsx';
import { BreakpointView } from './breakpoints/breakpoint-view.ts';
import { HeldCount } from './breakpoints/held-count.tsx';
import { CompareView } from './compare/compare-view.ts';
import { Explorer } from './explore/explorer.ts';
import { ExploreScreen } from './explore/explore.tsx';
import type { Lint } from './lint/lint.ts';
import { LintScreen } from './lint/lint-screen.tsx';
import { PageHead } from './head.tsx';
import { StartProblem } from './start-problem.tsx';
import type { Link } from './server/follow.ts';
import type { Server } from './server/server.ts';
import { switchTheme } from './ui/color-theme.ts';
import { handleKey, useCommands, type Command } from './ui/commands.ts';
import { Help, helpOpen } from './ui/help.tsx';
import { lazy, lazyScreen } from './ui/lazy.tsx';
import { Palette, paletteOpen } from './ui/palette.tsx';
import { tabPanel, TabList } from './ui/tabs.tsx';
import { Toasts } from './ui/toast.tsx';
import { badgeText } from './wire/format.ts';
import type { Wire } from './wire/wire.ts';
import { WireScreen } from './wire/wire.tsx';

type Screen = 'Explore' | 'Wire' | 'Asked' | 'Lint' | 'Latency' | 'Auth' | 'Breakpoints' | 'Apps' | 'Compare';

const LatencyScreen = lazy(async () => (await import('./latency/latency-screen.tsx')).LatencyScreen);
const AppsScreen = lazyScreen(async () => (await import('./apps/apps-screen.tsx')).AppsScreen);
const BreakpointsScreen = lazyScreen(async () => (await import('./breakpoints/breakpoints.tsx')).BreakpointsScreen);
const CompareScreen = lazyScreen(async () => (await import('./compare/compare-screen.tsx')).CompareScreen);

const screen = signal<Screen>('Explore');

function show(name: Screen): void {
  screen.value = name;
}

const COMMANDS: readonly Command[] = [
  { title: 'Show Explore', keys: 'g e', run: () => show('Explore') },
  { title: 'Show Wire', keys: 'g w', run: () => show('Wire') },
  { title: 'Show Asked', keys: 'g a', run: () => show('Asked') },
  { title: 'Show Lint', keys: 'g l', run: () => show('Lint') },
  { title: 'Show Latency', keys: 'g t', run: () => show('Latency') },
  { title: 'Show Auth', keys: 'g o', run: () => show('Auth') },
  { title: 'Show Breakpoints', keys: 'g b', run: () => show('Breakpoints') },
  { title: 'Show Apps', keys: 'g p', run: () => show('Apps') },
  { title: 'Show Compare', keys: 'g c', run: () => show('Compare') },
  { title: 'Find a command', keys: 'Ctrl k', run: () => void (paletteOpen.value = true) },
  { title: 'Show all keys', keys: '?', run: () => void (helpOpen.value = true) },
  { title: 'Change the color theme', run: switchTheme },
];

interface AppProps {
  readonly server: Server;
  readonly wire: Wire;
}

/** The whole page: the head with what is inspected, the tabs, and the screens. */
export function App({ server, wire }: AppProps): JSX.Element {
  const { state, link } = wire.source;
  useCommands(COMMANDS);
  useLayoutEffect(() => {
    document.addEventListener('keydown', handleKey);
    return () => document.removeEventListener('keydown', handleKey);
  }, []);
  const explorer = useMemo(() => new Explorer(server, state, wire, show), []);
  const breakpoints = useMemo(() => new BreakpointView(server, state, () => show('Breakpoints')), []);
  const compare = useMemo(() => new CompareView(() => show('Compare')), []);
  const { role } = state.value;
  const open = openQuestions(explorer).length;
  const { status } = link.value;
  // A page that only observes has nothing to send.
  useLayoutEffect(() => {
    if (status === 'open' && role !== 'client') show('Wire');
  }, [role, status]);
  // A tab from before Everwire was started again has nothing to show.
  const wasOpen = useRef(false);
  wasOpen.current ||= status === 'open';
  if (link.value.status === 'refused' && !wasOpen.current) return <StartProblem reason={link.value.reason} />;
  const count = open > 0 && (
    <span class="count">
      {badgeText(open)}
      <span class="visually-hidden"> open</span>
    </span>
  );
  const panel = (name: Screen): JSX.HTMLAttributes<HTMLDivElement> => tabPanel('screen', name, screen.value);
  return (
    <>
      <header class="head">
        <PageHead state={state.value} link={link.value} />
        <TabList
          id="screen"
          label="Screens"
          tabs={[
            { name: 'Explore' },
            { name: 'Wire' },
            { name: 'Asked', extra: count },
            { name: 'Lint', extra: <LintTotal lint={wire.lint} /> },
            { name: 'Latency' },
            { name: 'Auth' },
            { name: 'Breakpoints', extra: <HeldCount view={breakpoints} /> },
            { name: 'Apps' },
            { name: 'Compare' },
          ]}
          selected={screen.value}
          onselect={show}
        />
      </header>
      <Banner link={link.value} />
      <main>
        <div class="screen" {...panel('Explore')}>
          <ExploreScreen explorer={explorer} visible={screen.value === 'Explore'} />
        </div>
        <div class="screen" {...panel('Wire')}>
          <WireScreen
            wire={wire}
            state={state}
            breakpoints={breakpoints}
            compare={compare}
            visible={screen.value === 'Wire'}
          />
        </div>
        <div class="screen" {...panel('Asked')}>
          <AskedScreen explorer={explorer} visible={screen.value === 'Asked'} />
        </div>
        <div class="screen" {...panel('Lint')}>
          <LintScreen wire={wire} visible={screen.value === 'Lint'} onwire={() => show('Wire')} />
        </div>
        <div class="screen" {...panel('Latency')}>
          {screen.value === 'Latency' && <LatencyScreen wire={wire} onwire={() => show('Wire')} />}
        </div>
        <div class="screen" {...panel('Auth')}>
          <AuthScreen server={server} state={state} />
        </div>
        <div class="screen" {...panel('Breakpoints')}>
          <BreakpointsScreen view={breakpoints} visible={screen.value === 'Breakpoints'} />
        </div>
        <div class="screen" {...panel('Apps')}>
          <AppsScreen explorer={explorer} visible={screen.value === 'Apps'} />
        </div>
        <div class="screen" {...panel('Compare')}>
          <CompareScreen
            visible={screen.value === 'Compare'}
            view={compare}
            store={wire.store}
            server={server}
            state={state}
            onshow={(n) => {
              wire.view.reveal(n);
              show('Wire');
            }}
          />
        </div>
      </main>
      <Toasts />
      {paletteOpen.value && <Palette />}
      {helpOpen.value && <Help />}
    </>
  );
}

/** How many errors and warnings the linter found. */
function LintTotal({ lint }: { readonly lint: Lint }): JSX.Element | null {
  void lint.version.value;
  const { error, warning } = lint.findings.counts;
  if (error + warning === 0) return null;
  return (
    <span class="count">
      {badgeText(error + warning)}
      <span class="visually-hidden"> errors and warnings</span>
    </span>
  );
}

/** A notice that the page's server no longer responds. */
function Banner({ link }: { readonly link: Link }): JSX.Element | null {
  if (link.status === 'lost')
    return (
      <div class="banner" role="alert">
        Everwire has ended or does not respond. This page keeps what it shows, but can do nothing more. Start Everwire
        again, and open the URL that it prints.
      </div>
    );
  if (link.status === 'refused')
    return (
      <div class="banner" role="alert">
        {link.reason}
      </div>
    );
  return null;
}
