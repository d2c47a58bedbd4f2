/**
 * Suites for those who implement a contract of this package, for any test runner.
 *
 * @module
 */
export * from './event-log-suite.ts';
export * from './task-store-suite.ts';
export * from './token-store-suite.ts';
export * from './transport-suite.ts';
