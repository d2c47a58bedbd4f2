import { onPage } from '../clauses.ts';
import type { MalformedEvent } from '../model/events.ts';
import { onEvent, type Outcome, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

/** Lines of stdio. */
export const STDIO_RULES: readonly WireRule[] = [
  onEvent('malformed', {
    id: 'stdio-stdout-only-messages',
    area: 'stdio',
    severity: 'error',
    clauses: onPage('basic/transports', ['2,3', '3,4', '3,4', '3,5'], 'basic/transports/stdio 1,3'),
    right: 'A server writes only messages to stdout, each on one line. Logs go to stderr.',
    check: (event) => strayLine(event, 'server'),
  }),
  onEvent('malformed', {
    id: 'stdio-stdin-only-messages',
    area: 'stdio',
    severity: 'error',
    clauses: onPage('basic/transports', ['4', '5', '5', '6'], 'basic/transports/stdio 4'),
    right: "A client writes only messages to the server's stdin, each on one line.",
    check: (event) => strayLine(event, 'client'),
  }),
  onEvent('line', {
    id: 'stdio-line-end',
    area: 'stdio',
    severity: 'warning',
    clauses: onPage('basic/transports', ['', '', '', ''], 'basic/transports/stdio'),
    right: 'Each message ends with a newline.',
    check: ({ note, text }) => (note === 'without a line end' ? `a last line without a newline: ${shown(text)}` : true),
  }),
];

function strayLine({ problem, text, from }: MalformedEvent, side: MalformedEvent['from']): Outcome {
  return problem === 'not a message' && from === side
    ? `a line that is no message: ${shown(text.trimEnd())}`
    : undefined;
}
