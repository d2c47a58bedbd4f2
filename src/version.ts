/** The version of this package, as in package.json (a test checks that both are the same). */
export const VERSION = '0.1.0';
