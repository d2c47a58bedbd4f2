export * from './exchange.ts';
export * from './rounds.ts';
