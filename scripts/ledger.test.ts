import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLedger, countLedger, parseLedger } from './ledger.ts';

const HEAD = ['| # | Level | Statement | Proof |', '| --- | :-- | --- | --- |'];
const page = (heading: string, ...rows: string[]): string => [`## ${heading}`, '', ...HEAD, ...rows, ''].join('\n');

describe('reading a ledger', () => {
  test('parses pages, statements and proofs', () => {
    const row = '| 1 | MUST | answer `a \\| b` | `test/a.test.ts › b › c`<br>`test/d.test.ts › e` |';
    expect(
      parseLedger(`# Title\n\nProse.\n\n${page('basic/a (2)', row, '| 2 | SHOULD NOT | sing | — binds a client |')}`),
    ).toEqual([
      {
        path: 'basic/a',
        count: 2,
        statements: [
          {
            number: '1',
            level: 'MUST',
            text: 'answer `a | b`',
            proofs: [
              { file: 'test/a.test.ts', title: 'b › c' },
              { file: 'test/d.test.ts', title: 'e' },
            ],
            reason: undefined,
          },
          { number: '2', level: 'SHOULD NOT', text: 'sing', proofs: [], reason: 'binds a client' },
        ],
      },
    ]);
  });

  test.each([
    ['a heading without a count', page('basic/a'), 'line 1: '],
    ['a row of three cells', page('basic/a (1)', '| 1 | MUST | sing |'), 'line 5: '],
    ['a row before a heading', '| 1 | MUST | sing | — why |', 'line 1: '],
    ['a proof without backticks', page('a (1)', '| 1 | MUST | sing | a.test.ts › b |'), 'line 5: '],
    ['a proof without a title', page('a (1)', '| 1 | MUST | sing | `a.test.ts` |'), 'line 5: '],
    ['text after a proof', page('a (1)', '| 1 | MUST | sing | `a.test.ts › b` and more |'), 'line 5: '],
  ])('refuses %s', (_, markdown, where) => {
    expect(() => parseLedger(markdown)).toThrow(where);
  });

  test('counts statements that are proven, statements that bind others, and departures', () => {
    const rows = ['`a.test.ts › b`', '— binds a client', '— Departure: nobody wants it', '— why'].map(
      (proof, i) => `| ${i + 1} | MUST | sing | ${proof} |`,
    );
    expect(countLedger(parseLedger(page('a (3)', ...rows.slice(0, 3)) + page('b (1)', rows[3]!)))).toEqual({
      statements: 4,
      proven: 1,
      foreign: 2,
      departures: 1,
    });
  });
});

describe('checking a ledger', () => {
  let root: string;
  beforeEach(() => void (root = mkdtempSync(path.join(tmpdir(), 'everwire-ledger-'))));
  afterEach(() => rmSync(root, { recursive: true }));

  /** Writes a ledger of one revision, its overview, and a test file with the titles `b` and `c`. */
  function check(ledger: string, ...overview: string[]): string[] {
    mkdirSync(path.join(root, 'docs/ledger'), { recursive: true });
    mkdirSync(path.join(root, 'src'));
    writeFileSync(path.join(root, 'docs/ledger/2000-01-01.md'), ledger);
    writeFileSync(path.join(root, 'docs/ledger.md'), overview.join('\n'));
    writeFileSync(path.join(root, 'src/a.test.ts'), "test('b', () => {});\ntest('c', () => {});");
    return checkLedger(root);
  }

  const one = '| [2000-01-01](ledger/2000-01-01.md) | 1 | 1 | 0 | 0 |';

  test('accepts a correct ledger', () => {
    expect(check(page('basic/a (1)', '| 1 | MUST | sing | `src/a.test.ts › b`<br>`src/a.test.ts › c` |'), one)).toEqual(
      [],
    );
  });

  test.each([
    ['a missing test', '1 | MUST | sing | `src/a.test.ts › d`', 'basic/a 1: src/a.test.ts has no test "d"'],
    ['a missing file', '1 | MUST | sing | `src/b.test.ts › b`', 'basic/a 1: there is no test file src/b.test.ts'],
    [
      'a file that is not a test',
      '1 | MUST | sing | `docs/ledger.md › b`',
      'basic/a 1: there is no test file docs/ledger.md',
    ],
    [
      'a proof that is cited twice',
      '1 | MUST | sing | `src/a.test.ts › b`<br>`src/a.test.ts › b`',
      'basic/a 1: names a proof twice',
    ],
    ['an unknown level', '1 | MAY | sing | `src/a.test.ts › b`', 'basic/a 1: "MAY" is not a level'],
    ['a wrong number', '2 | MUST | sing | `src/a.test.ts › b`', 'basic/a 2: should have the number 1'],
    ['a statement without text', '1 | MUST |  | `src/a.test.ts › b`', 'basic/a 1: has no statement'],
  ])('finds %s', (_, row, problem) => {
    expect(check(page('basic/a (1)', `| ${row} |`), one)).toEqual([`docs/ledger/2000-01-01.md, ${problem}`]);
  });

  test.each(['', '—'])('finds a row whose proof is %j', (proof) => {
    expect(check(page('basic/a (1)', `| 1 | MUST | sing | ${proof} |`), one)).toContain(
      'docs/ledger/2000-01-01.md, basic/a 1: has neither proof nor reason',
    );
  });

  test('finds a heading with a wrong count, and a duplicate heading', () => {
    const row = '| 1 | MUST | sing | `src/a.test.ts › b` |';
    expect(check(page('basic/a (2)', row) + page('basic/a (0)'), one)).toEqual([
      'docs/ledger/2000-01-01.md, basic/a: has 2 headings',
      'docs/ledger/2000-01-01.md, basic/a: the heading counts 2 statements, the table has 1',
    ]);
  });

  test('finds a duplicate statement', () => {
    const rows = ['| 1 | MUST | sing | `src/a.test.ts › b` |', '| 2 | SHOULD | sing | `src/a.test.ts › b` |'];
    expect(check(page('basic/a (2)', ...rows), one.replace('1 | 1 |', '2 | 2 |'))).toEqual([
      'docs/ledger/2000-01-01.md, basic/a 1 and 2: have the same statement, "sing"',
    ]);
  });

  test('finds a ledger that cannot be parsed', () => {
    expect(check('## basic/a\n')).toEqual([expect.stringContaining('docs/ledger/2000-01-01.md, line 1: ')]);
  });

  test('finds an overview with a wrong count', () => {
    const wrong = one.replace('| 1 | 1 |', '| 1 | 0 |');
    expect(check(page('basic/a (1)', '| 1 | MUST | sing | `src/a.test.ts › b` |'), wrong)).toEqual([
      `docs/ledger.md: should have the row "${one}"`,
      `docs/ledger.md: should not have the row "${wrong}"`,
    ]);
  });
});
