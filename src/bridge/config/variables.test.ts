import { expect, test } from 'vitest';
import { fillWith, variablesOf } from './variables.ts';

test.each(['${a:', '${a:-', '${a:x:-'])('a text with many unfinished variables is read quickly: %s', (start) => {
  const text = `\${A}${start.repeat(40_000)}`;
  const before = process.cpuUsage();
  expect(fillWith({ env: { A: 'x' } })(text, () => {})).toBe(`x${start.repeat(40_000)}`);
  expect([...variablesOf([text])]).toEqual(['A']);
  const { user, system } = process.cpuUsage(before);
  // Without a limit, this took more than ten seconds.
  expect((user + system) / 1000).toBeLessThan(1000);
});

test.each(['pa${ss:w', 'pa${ss:-w', '${'])('an unclosed variable does not hide one of another text: %s', (password) => {
  const entry = { command: 'mail', env: { PASSWORD: password, TOKEN: '${S_MAIL}' } };
  expect([...variablesOf({ mail: entry })]).toEqual(['S_MAIL']);
});
