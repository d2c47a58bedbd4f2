import type { BehaviourRule } from '../rule.ts';
import { FEATURE_BEHAVIOUR } from './features.ts';
import { HTTP_BEHAVIOUR } from './http.ts';
import { JSON_RPC_BEHAVIOUR } from './json-rpc.ts';
import { LIFECYCLE_BEHAVIOUR } from './lifecycle.ts';
import { MODERN_BEHAVIOUR } from './modern.ts';
import { SECURITY_BEHAVIOUR } from './security.ts';
import { SESSION_BEHAVIOUR } from './session.ts';
import { SSE_BEHAVIOUR } from './sse.ts';
import { STDIO_BEHAVIOUR } from './stdio.ts';

/** All rules about the behaviour of a server. */
export const BEHAVIOUR_RULES: readonly BehaviourRule[] = [
  ...SECURITY_BEHAVIOUR,
  ...LIFECYCLE_BEHAVIOUR,
  ...JSON_RPC_BEHAVIOUR,
  ...HTTP_BEHAVIOUR,
  ...SESSION_BEHAVIOUR,
  ...SSE_BEHAVIOUR,
  ...STDIO_BEHAVIOUR,
  ...FEATURE_BEHAVIOUR,
  ...MODERN_BEHAVIOUR,
];
