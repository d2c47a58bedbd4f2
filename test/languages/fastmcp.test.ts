import { fastmcp } from './fastmcp.ts';
import { languageMatrix } from './matrix.ts';

languageMatrix(fastmcp);
