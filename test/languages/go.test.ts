import { goSdk } from './go.ts';
import { languageMatrix } from './matrix.ts';

languageMatrix(goSdk);
