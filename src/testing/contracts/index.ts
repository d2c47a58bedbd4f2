/**
 * Test suites for implementations of this package's contracts, for any test runner.
 *
 * @module
 */
export { busSuite, type BusNode } from './bus-suite.ts';
export { claimsSuite, type ClaimsNode } from './claims-suite.ts';
export { eventLogSuite, type EventLogBounds, type SuiteCase } from './event-log-suite.ts';
export { sessionStoreSuite, type SessionStoreBounds } from './session-store-suite.ts';
export { taskStoreSuite, type TaskStoreBounds } from './task-store-suite.ts';
export { tokenStoreSuite } from './token-store-suite.ts';
export { transportSuite, type TransportPair } from './transport-suite.ts';
