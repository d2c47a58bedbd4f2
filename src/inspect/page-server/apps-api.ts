import type { JsonValue } from '../../jsonrpc/message.ts';

/** MCP Apps (extension `io.modelcontextprotocol/ui`), in the API between the page and its server. */

/** The lists of domains that a resource may declare, in `_meta.ui.csp`. */
export type DomainList = 'connectDomains' | 'resourceDomains' | 'frameDomains' | 'baseUriDomains';

/** The document of an app. */
export interface AppDocument {
  /** The URI of its resource. */
  readonly uri: string;
  readonly html: string;
  /** `_meta.ui.csp` of the resource, as the server sent it. */
  readonly csp?: JsonValue;
}

/** A domain that a resource declares. */
export interface DeclaredDomain {
  readonly domain: string;
  /** Why it is not allowed. Undefined if it is. */
  readonly refused?: string | undefined;
}

/** What an app may load, and from where. */
export interface AppPolicy {
  readonly domains: Readonly<Record<DomainList, readonly DeclaredDomain[]>>;
  /** The value of the header `Content-Security-Policy`. */
  readonly header: string;
}

/** An app that can be shown in a frame. */
export interface ServedApp {
  readonly id: number;
  /** The address for the frame. */
  readonly url: string;
  readonly policy: AppPolicy;
}

/** What the policy of an app has blocked. */
export interface Violation {
  readonly directive: string;
  /** A URL, or what is not at a URL: `inline`, `eval`, `data`, `blob`. */
  readonly blocked: string;
  readonly count: number;
}

/** What browsers reported about an app. */
export interface AppReports {
  readonly id: number;
  readonly violations: readonly Violation[];
  /** Whether there were more, which are not shown. */
  readonly hasMore: boolean;
}

/** The largest message of an app: UTF-16 code units of its JSON text, and bytes of memory, estimated. */
export const MAX_APP_MESSAGE = 4 * 1024 * 1024;

/** A message between an app and the page. */
export interface AppMessage {
  readonly from: 'app' | 'host';
  /** JSON text. */
  readonly text: string;
}

/** The commands of the page for apps. */
export interface AppCommands {
  /** Serves the document of an app, on an origin of the server that it comes from. */
  serveApp(document: AppDocument): ServedApp;
  /** Stops serving it. */
  closeApp(app: { readonly id: number }): void;
  /** Adds messages to the records. */
  recordApp(app: { readonly id: number; readonly messages: readonly AppMessage[] }): void;
}
