import { languageMatrix } from './matrix.ts';
import { rustSdk } from './rust.ts';

languageMatrix(rustSdk);
