import { javaSdk } from './java.ts';
import { languageMatrix } from './matrix.ts';

languageMatrix(javaSdk);
