import { languageMatrix } from './matrix.ts';
import { pythonSdk } from './python.ts';

languageMatrix(pythonSdk);
