import { fastmcp } from './fastmcp.ts';
import { goSdk } from './go.ts';
import { javaSdk } from './java.ts';
import { kotlinSdk } from './kotlin.ts';
import type { Language } from './language.ts';
import { pythonSdk } from './python.ts';
import { rustSdk } from './rust.ts';

export const languages: readonly Language[] = [pythonSdk, fastmcp, goSdk, rustSdk, javaSdk, kotlinSdk];
