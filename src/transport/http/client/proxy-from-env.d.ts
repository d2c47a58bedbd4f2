/** The package has no types of its own. */
declare module 'proxy-from-env' {
  /** The proxy that the environment names for a URL, with the rules of `NO_PROXY`. Empty if there is none. */
  export function getProxyForUrl(url: string): string;
}
