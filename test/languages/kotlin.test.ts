import { kotlinSdk } from './kotlin.ts';
import { languageMatrix } from './matrix.ts';

languageMatrix(kotlinSdk);
