/** Log levels, least severe first (server/utilities/logging: Log Levels; RFC 5424, section 6.2.1). */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/** How severe a log message is. */
export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Whether a value names a log level. */
export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.includes(value as LogLevel);
}

/** Whether a log message of this level passes the level `threshold`. Without a threshold, every message passes. */
export function reaches(level: unknown, threshold: LogLevel | undefined): boolean {
  return threshold === undefined || !isLogLevel(level) || LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold);
}
