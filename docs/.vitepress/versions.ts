/** An older version of this site. */
export interface OlderVersion {
  readonly version: string;
  /** Where its site is served, with the host. */
  readonly url: string;
}

/**
 * The older versions that the menu offers, newest first. When a release replaces the documentation, build the old one at
 * its tag with `npm run docs:build -- --base /<version>/`, serve it there, and add it here.
 */
export const olderVersions: readonly OlderVersion[] = [];
