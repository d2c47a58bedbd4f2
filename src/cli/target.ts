export interface UrlTarget {
  readonly kind: 'url';
  readonly url: string;
  /** By name; they may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** The one that is tried. Default: found out. */
  readonly transport?: 'http' | 'sse' | undefined;
}

export interface CommandTarget {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Variables of our environment that it is not given. */
  readonly withheld?: readonly string[];
}

/** The server that a command line means. */
export type Target = UrlTarget | CommandTarget;
