import { expect, test } from 'vitest';
import { StderrLog } from './stderr-log.ts';

function wrote(text: string): StderrLog {
  const log = new StderrLog(undefined);
  log.push(Buffer.from(text));
  return log;
}

test.each([
  ['', undefined],
  ['\n \n', undefined],
  ['one\n  two \n\n', 'two'],
  ['Error: no key\n    at main (a.js:1:1)\n    at b.js:2:2\n\nNode.js v20.20.0\n', 'Error: no key'],
  [
    "throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at a:1:1 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.1.0\n",
    "Error: Cannot find module '/x.js'",
  ],
  ['throw new Error()\n      ^\n', 'throw new Error()'],
  ['Node.js v20.20.0\n', 'Node.js v20.20.0'],
  [
    'npm error code E404\nnpm error 404 Not Found - GET https://registry.example.com/x\nnpm error 404\nnpm error tarball, folder, http url, or git url.\nnpm error A complete log of this run can be found in: /x.log\n',
    'npm error 404 Not Found - GET https://registry.example.com/x',
  ],
  [
    'npm error could not determine executable to run\nnpm error A complete log of this run can be found in: /x.log\n',
    'npm error could not determine executable to run',
  ],
])('the last useful line of %j is %j', (text, last) => {
  expect(wrote(text).lastLine?.trim()).toBe(last);
});

test('only a few last lines are kept, without empty ones', () => {
  const many = Array.from({ length: 20 }, (_, index) => `line ${index}\n    at somewhere:${index}\n`).join('');
  expect(wrote(many).lastLines.split('\n')).toEqual(Array.from({ length: 8 }, (_, index) => `line ${12 + index}`));
  expect(wrote('x'.repeat(99).concat(' ').repeat(50)).lastLines).toHaveLength(999);
  expect(wrote('').lastLines).toBe('');
});

test('no word is cut, because a part of a secret would not be recognised', () => {
  const words = Array.from({ length: 5000 }, (_, index) => `secret-${index}`);
  for (const filler of ['', 'x', 'xx', 'xxx', 'xxxx', 'xxxxx']) {
    const { lastLine, lastLines, tail } = wrote([filler, ...words].join(' '));
    expect(lastLine!.length).toBeLessThanOrEqual(1000);
    expect(lastLines.length).toBeLessThanOrEqual(1000);
    expect(tail.length).toBeLessThanOrEqual(8 * 1024);
    for (const text of [lastLine!, lastLines, tail]) {
      expect(text.length).toBeGreaterThan(900);
      for (const word of text.split(' ')) expect(word).toMatch(/^secret-\d{4}$/);
    }
  }
  expect(wrote('x'.repeat(10_000)).lastLines).toBe('');
});
