import type { Packet } from './channels.ts';

/** What the process of a version sends. */
export type ChildMessage =
  | Packet
  /** The file is loaded, and its server accepts connections. */
  | { readonly ready: true }
  /** The file is loaded, but cannot be served. */
  | { readonly unusable: string }
  /** Node loads these modules, because `WATCH_REPORT_DEPENDENCIES` is set. `node --watch` uses the same messages. */
  | { readonly 'watch:import': readonly unknown[] }
  | { readonly 'watch:require': readonly unknown[] };
