import type { Feature } from './feature.ts';
import { flowFeatures } from './features-flow.ts';
import { listFeatures } from './features-lists.ts';
import { questionFeatures } from './features-questions.ts';

/** All features that a server and a client can share. */
export const features: readonly Feature[] = [...listFeatures, ...flowFeatures, ...questionFeatures];
