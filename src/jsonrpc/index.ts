export * from './batch.ts';
export * from './errors.ts';
export * from './message.ts';
export * from './parse.ts';
export * from './pending.ts';
