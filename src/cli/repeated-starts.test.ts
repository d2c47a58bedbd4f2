import { expect, test } from 'vitest';
import { withoutRepeatedStarts } from './repeated-starts.ts';

type Child = Parameters<ReturnType<typeof withoutRepeatedStarts>>[1];

function commandOf(): { run: (lines: readonly string[], child?: Child) => Child; passed: string[] } {
  const passed: string[] = [];
  const onstderr = withoutRepeatedStarts((line) => void passed.push(line));
  return {
    passed,
    /** A process that writes lines and ends without an answer, unless it is given as another. */
    run: (lines, child = { answered: false, exit: { code: 1, signal: null } }) => {
      for (const line of lines) onstderr(line, child);
      return child;
    },
  };
}

test('a command that fails in the same way each time writes it once', () => {
  const { run, passed } = commandOf();
  for (let count = 0; count < 3; count += 1) run(['starting', 'no database']);
  expect(passed).toEqual(['starting', 'no database']);
});

test('a command that fails in another way is heard from the first line that differs', () => {
  const { run, passed } = commandOf();
  run(['starting', 'no database']);
  run(['starting', 'no license', 'no database', 'starting']);
  run(['no license']);
  expect(passed).toEqual(['starting', 'no database', 'no license', 'no database', 'starting', 'no license']);
});

test('the lines of a process that answered, and of one that runs beside it, are never left out', () => {
  const { run, passed } = commandOf();
  const one = run(['ready'], { answered: true, exit: undefined });
  const other = run(['ready'], { answered: false, exit: undefined });
  run(['call'], one);
  run(['call'], other);
  run(['ready'], { answered: true, exit: { code: 1, signal: null } });
  run(['ready']);
  expect(passed).toEqual(['ready', 'ready', 'call', 'call', 'ready', 'ready']);
});

test('a command that is started twice at the same time, and fails as before, writes nothing', () => {
  const { run, passed } = commandOf();
  run(['no database']);
  const beside: { answered: boolean; exit: Child['exit'] } = { answered: false, exit: undefined };
  run(['no database'], beside);
  run(['no database'], { answered: false, exit: undefined });
  run(['no database']);
  beside.exit = { code: 1, signal: null };
  run(['no database']);
  expect(passed).toEqual(['no database']);
});

test('what is not remembered is passed on each time', () => {
  const { run, passed } = commandOf();
  const many = Array.from({ length: 300 }, (_, index) => `line ${index}`);
  run(many);
  run(many);
  expect(passed).toEqual([...many, ...many.slice(200)]);
  const long = ['a'.repeat(60_000), 'b'.repeat(60_000)];
  run(long);
  run(long);
  expect(passed.slice(400)).toEqual([...long, long[1]]);
});
