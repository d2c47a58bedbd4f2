import { answer } from './bare-answer.ts';
import { answerLines } from './bare-lines.ts';

/** The limit for a server over stdio. */

answerLines(answer);
