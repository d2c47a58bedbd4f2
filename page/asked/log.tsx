import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { LOG_LEVELS, reaches, type LogLevel } from '../../src/protocol/logging.ts';
import type { Explorer } from '../explore/explorer.ts';
import { toast } from '../ui/toast.tsx';
import { Visible } from '../ui/visible.tsx';
import type { LogMessage } from './notices.ts';

/** The most messages that are shown at once, and characters of one. Wire has all. */
const MAX_SHOWN = 200;
const MAX_TEXT = 2000;

const KINDS: Readonly<Partial<Record<LogLevel, string>>> = {
  warning: 'warn',
  error: 'bad',
  critical: 'bad',
  alert: 'bad',
  emergency: 'bad',
};

const least = signal<LogLevel>('debug');

/** The server's log messages, newest first, and the level that the page requests. */
export function Log({ explorer }: { explorer: Explorer }): JSX.Element {
  const { logLevel } = explorer.state.value;
  const all = explorer.notices.messages.value;
  const found = all.filter(({ level }) => reaches(level, least.value));
  const setLevel = (level: string): void => {
    explorer.server.send('setLogLevel', { level }).catch((error: unknown) => toast((error as Error).message, 'bad'));
  };
  return (
    <>
      <div class="toolbar">
        <label class="inline">
          Level to request
          <select value={logLevel ?? ''} onChange={({ currentTarget }) => setLevel(currentTarget.value)}>
            <option value="" disabled>
              the server’s default
            </option>
            {LOG_LEVELS.map((level) => (
              <option key={level}>{level}</option>
            ))}
          </select>
        </label>
        <label class="inline">
          Level to show
          <select
            value={least.value}
            onChange={({ currentTarget }) => {
              least.value = currentTarget.value as LogLevel;
            }}
          >
            {LOG_LEVELS.map((level) => (
              <option key={level}>{level}</option>
            ))}
          </select>
        </label>
        <button type="button" disabled={all.length === 0} onClick={() => explorer.notices.clearMessages()}>
          Clear
        </button>
      </div>
      {found.length === 0 && (
        <p class="empty">{all.length === 0 ? 'No log messages yet.' : 'No message has this level or a higher one.'}</p>
      )}
      {found.length > 0 && (
        <ol class="log" aria-label="Log messages">
          {found
            .slice(-MAX_SHOWN)
            .toReversed()
            .map((message) => (
              <LogLine key={message.n} message={message} explorer={explorer} />
            ))}
        </ol>
      )}
      {found.length > MAX_SHOWN && (
        <p class="soft">
          These are the newest {MAX_SHOWN} of {found.length}. All are in Wire.
        </p>
      )}
    </>
  );
}

function LogLine({ message, explorer }: { message: LogMessage; explorer: Explorer }): JSX.Element {
  const { n, time, level, logger, text } = message;
  return (
    <li>
      <time class="soft mono" dateTime={time.toISOString()}>
        {time.toLocaleTimeString()}
      </time>
      <span class={`badge ${(level && KINDS[level]) ?? ''}`}>{level ?? 'no level'}</span>
      <span>
        {logger !== undefined && (
          <strong>
            <Visible text={logger} max={200} />{' '}
          </strong>
        )}
        <span class="prose">
          <Visible text={text} lines max={MAX_TEXT} />
        </span>
      </span>
      <button
        type="button"
        class="quiet"
        aria-label={`Show record ${n} in Wire`}
        onClick={() => explorer.showRecord(n)}
      >
        Wire
      </button>
    </li>
  );
}
