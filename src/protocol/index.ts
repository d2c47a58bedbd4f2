export * from './capabilities.ts';
export * from './errors.ts';
export * from './logging.ts';
export * from './methods.ts';
export * from './revisions.ts';
export * from './sampling.ts';
export * from './tasks.ts';
export * from './types.ts';
