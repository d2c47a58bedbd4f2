/** The package brings no types. */
declare module 'proxy-from-env' {
  /** The proxy that the environment names for an address, by NO_PROXY too; empty if there is none. */
  export function getProxyForUrl(url: string): string;
}
