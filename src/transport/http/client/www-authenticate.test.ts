import { expect, test } from 'vitest';
import { parseChallenges } from './www-authenticate.ts';

const read = (header: string | undefined): unknown =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

test.each([
  ['nothing', undefined, []],
  ['an empty header', '', []],
  ['a scheme alone', 'Bearer', [['bearer', {}]]],
  [
    'parameters, with and without quotes',
    'Bearer error=invalid_token, scope="a b"',
    [['bearer', { error: 'invalid_token', scope: 'a b' }]],
  ],
  ['spaces around the equals sign, and no comma', 'Bearer  a = 1 b\t=\t"2"', [['bearer', { a: '1', b: '2' }]]],
  [
    'several challenges',
    'DPoP error="use_dpop_nonce", algs="ES256", Bearer realm="x", scope="y"',
    [
      ['dpop', { error: 'use_dpop_nonce', algs: 'ES256' }],
      ['bearer', { realm: 'x', scope: 'y' }],
    ],
  ],
  [
    'a challenge with a credential before another',
    'Negotiate YWJj==, Bearer scope="y"',
    [
      ['negotiate', {}],
      ['bearer', { scope: 'y' }],
    ],
  ],
  ['commas and quotes inside a value', 'Bearer d="a, \\"b\\", c", e="f"', [['bearer', { d: 'a, "b", c', e: 'f' }]]],
  ['the first of two parameters with the same name', 'Bearer scope="a", SCOPE="b"', [['bearer', { scope: 'a' }]]],
  ['names in any case', 'BEARER Resource_Metadata="u"', [['bearer', { resource_metadata: 'u' }]]],
  ['the part before a syntax error', 'Bearer a="1", b="2', [['bearer', { a: '1' }]]],
  ['nothing from a header that is too long', `Bearer a="${'x'.repeat(20_000)}"`, []],
])('reads %s', (_, header, expected) => {
  expect(read(header)).toEqual(expected);
});

test('reads a hostile header in a short time', () => {
  const before = process.cpuUsage();
  parseChallenges(`Bearer ${'a= '.repeat(5000)}`);
  parseChallenges(`Bearer a="${'\\"'.repeat(8000)}`);
  // The processor time of this process only.
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});
