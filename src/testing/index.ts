export * from './event-log-suite.ts';
