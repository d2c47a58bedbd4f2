import type { CheckRule } from '../check-rule.ts';
import { DISCOVERY_CHECKS } from './discovery.ts';
import { LOGIN_CHECKS } from './login.ts';
import { USE_CHECKS } from './use.ts';

/** The checks of all steps, in the order of the steps. */
export const CHECKS: readonly CheckRule[] = [...DISCOVERY_CHECKS, ...LOGIN_CHECKS, ...USE_CHECKS];
