export * from './event-log-suite.ts';
export * from './transport-suite.ts';
