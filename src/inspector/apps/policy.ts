import type { AppPolicy, DeclaredDomain, DomainList } from '../../inspect/page-server/apps-api.ts';
import { isObject } from '../../jsonrpc/message.ts';

/** The most domains of a list. */
const MAX_DOMAINS = 100;
/** The longest domain that is shown. UTF-16 code units. */
const MAX_SHOWN = 300;
/** An origin as a content security policy writes it: a scheme, a host that may begin with `*.`, and a port. */
const SOURCE =
  /^(?:(?:https?|wss?):\/\/)?(?:(?:\*\.)?[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,20}|\[[0-9a-f:.]{2,45}\])(?::(\d{1,5}))?$/i;

/** Where an app is shown. */
export interface AppPlace {
  /** The origin of the page. */
  readonly page: string;
  /** The origin of the app. */
  readonly app: string;
  /** The path that browsers send their reports to. */
  readonly report: string;
}

/**
 * The policy of an app: what MCP Apps 2026-01-26 prescribes (Content Security Policy Enforcement), without `'self'`,
 * because the origin of an app has nothing to load. All that the resource does not declare is forbidden.
 *
 * @param csp `_meta.ui.csp` of the resource, which may be anything.
 */
export function appPolicy(csp: unknown, { page, app, report }: AppPlace): AppPolicy {
  const own = new Set([page, app].map((origin) => portOf(new URL(origin))));
  const declared = isObject(csp) ? csp : {};
  const list = (name: DomainList): readonly DeclaredDomain[] => domainsOf(declared[name], own);
  const domains = {
    connectDomains: list('connectDomains'),
    resourceDomains: list('resourceDomains'),
    frameDomains: list('frameDomains'),
    baseUriDomains: list('baseUriDomains'),
  };
  const allowed = (name: DomainList): readonly string[] =>
    domains[name].filter(({ refused }) => refused === undefined).map(({ domain }) => domain);
  const rule = (directive: string, ...sources: readonly string[]): string =>
    `${directive} ${sources.length === 0 ? "'none'" : sources.join(' ')}`;
  const [connect, resources, frames, baseUris] = [
    allowed('connectDomains'),
    allowed('resourceDomains'),
    allowed('frameDomains'),
    allowed('baseUriDomains'),
  ];
  const header = [
    "default-src 'none'",
    rule('script-src', "'unsafe-inline'", ...resources),
    rule('style-src', "'unsafe-inline'", ...resources),
    rule('img-src', 'data:', ...resources),
    rule('media-src', 'data:', ...resources),
    rule('font-src', ...resources),
    rule('connect-src', ...connect),
    rule('frame-src', ...frames),
    rule('base-uri', ...(baseUris.length === 0 ? ["'self'"] : baseUris)),
    "object-src 'none'",
    "form-action 'none'",
    // The frame of the app is in a frame of its own origin, which is in the page.
    `frame-ancestors ${app} ${page}`,
    `sandbox ${SANDBOX}`,
    `report-uri ${report}`,
  ].join('; ');
  return { domains, header };
}

/** What an app may do at all: not open windows, navigate the page, show dialogs or download. */
export const SANDBOX = 'allow-scripts allow-same-origin allow-forms';

/** The port of an origin, which does not name the usual one of its scheme. */
function portOf({ port, origin }: URL): number {
  return port === '' ? usualPortOf(origin) : Number(port);
}

/** The port of a source without one. Without a scheme, it has that of the page. */
function usualPortOf(source: string): number {
  return /^(?:https|wss):/i.test(source) ? 443 : 80;
}

/** @param own the ports that the inspector itself listens on. */
function domainsOf(value: unknown, own: ReadonlySet<number>): readonly DeclaredDomain[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ domain: shown(value), refused: 'not a list' }];
  return value.slice(0, MAX_DOMAINS + 1).map((each: unknown, at) => {
    if (at === MAX_DOMAINS) return { domain: '…', refused: `only the first ${MAX_DOMAINS} count` };
    if (typeof each !== 'string') return { domain: shown(each), refused: 'not a string' };
    const domain = each.replace(/\/$/, '');
    const [whole, port] = SOURCE.exec(domain) ?? [];
    if (whole === undefined) return { domain: shown(each), refused: 'not an origin' };
    // Browsers read `080` as 80.
    if (own.has(port === undefined ? usualPortOf(domain) : Number(port)))
      return { domain, refused: 'a port of the inspector' };
    return { domain };
  });
}

function shown(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, MAX_SHOWN);
}
