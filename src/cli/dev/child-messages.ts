import type { Packet } from './channels.ts';

/** The key of all messages of `everwire dev`. The user's file may send messages of its own, for a process manager. */
export const DEV = 'everwire:dev';

/** What the process of a version sends. */
export type ChildMessage = { readonly [DEV]: DevMessage } | ModuleReport;

export type DevMessage =
  | Packet
  /** The file is loaded, and its server accepts connections. */
  | { readonly ready: true }
  /** The file is loaded, but cannot be served. */
  | { readonly unusable: string };

/** Node loads these modules, because `WATCH_REPORT_DEPENDENCIES` is set. `node --watch` uses the same messages. */
export type ModuleReport =
  | { readonly 'watch:import': readonly unknown[] }
  | { readonly 'watch:require': readonly unknown[] };
