import { peerUrl } from '../../../../base/peer-url.ts';

/**
 * Which `Host` and `Origin` headers are accepted. Those of loopback always are. Others are refused with 403 unless they
 * are listed here (2025-11-25, basic/transports: Security Warning).
 */
export interface HostRules {
  /** Host names to accept beside loopback: a name, or a name with a port. Default none. */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Origins to accept beside those on loopback: `https://app.example`. `*` accepts any. Only pages of these origins may
   * read responses (CORS). Default none.
   */
  readonly allowedOrigins?: readonly string[] | undefined;
  /**
   * Accept a Host that is an IP address, for a server that listens on all interfaces. Safe against DNS rebinding, which
   * needs a name. Default false.
   */
  readonly allowIpHosts?: boolean | undefined;
}

/**
 * A name or an address, with or without a port (RFC 9110, section 7.2). The URL parser is more lenient: it ignores tabs, and
 * accepts a path after the host.
 */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Keeps the last result of a predicate, because most requests have the same header as the one before. */
function remembered(decide: (value: string) => boolean): (value: string) => boolean {
  let last: string | undefined;
  let answer!: boolean;
  return (value) => {
    // Stryker disable next-line ConditionalExpression: deciding again gives the same answer
    if (value !== last) {
      answer = decide(value);
      last = value;
    }
    return answer;
  };
}

/**
 * Whether a request with this Host header is accepted. Protects local servers from DNS rebinding (2025-11-25,
 * transports: Security Warning).
 */
export function hostGuard(rules: HostRules): (host: string) => boolean {
  const allowed = new Set(rules.allowedHosts?.map((host) => host.toLowerCase()));
  return remembered((host) => {
    const url = HOST.test(host) ? peerUrl(`http://${host}`) : undefined;
    if (!url) return false;
    if (isLoopback(url.hostname) || allowed.has(url.hostname) || allowed.has(host.toLowerCase())) return true;
    return rules.allowIpHosts === true && isIp(url.hostname);
  });
}

/**
 * Whether a request with this Origin header is accepted: servers MUST validate it (2025-11-25, transports: Security
 * Warning, 1).
 */
export function originGuard(rules: HostRules): (origin: string) => boolean {
  const allowed = namedOriginGuard(rules);
  return remembered((origin) => {
    if (allowed(origin)) return true;
    const url = peerUrl(origin);
    return (url?.protocol === 'http:' || url?.protocol === 'https:') && isLoopback(url.hostname);
  });
}

/** Whether an Origin is one of `allowedOrigins`. */
export function namedOriginGuard({ allowedOrigins }: HostRules): (origin: string) => boolean {
  const allowed = new Set(allowedOrigins?.map((origin) => origin.toLowerCase().replace(/\/$/, '')));
  return allowed.has('*') ? () => true : (origin) => allowed.has(origin.toLowerCase());
}

export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/** @param hostname of a URL: the parser refuses a name that ends in a number and is not an IPv4 address. */
function isIp(hostname: string): boolean {
  return hostname.startsWith('[') || /\.\d+$/.test(hostname);
}

/** The media type of a Content-Type header, in lower case and without parameters. */
export function mediaType(contentType: string): string {
  const end = contentType.indexOf(';');
  return (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/** Whether an Accept header accepts all of `types` (RFC 9110, section 12.5.1). */
export function acceptGuard(...types: readonly string[]): (accept: string) => boolean {
  return remembered((accept) => types.every((type) => accepts(accept, type)));
}

function accepts(accept: string, type: string): boolean {
  const wildcard = `${type.slice(0, type.indexOf('/'))}/*`;
  let best = 0;
  let quality = 0;
  for (const range of accept.split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    // The most specific range decides.
    const rank = name === type ? 2 : name === wildcard ? 1 : name === '*/*' ? 0 : -1;
    if (rank < best) continue;
    best = rank;
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    quality = q === undefined ? 1 : Number(q.slice(2));
  }
  return quality > 0;
}
