import { expect, test } from 'vitest';
import { expand, variablesOf } from './uri-template.ts';

/** The values of RFC 6570, section 3.2. */
const VALUES = {
  var: 'value',
  hello: 'Hello World!',
  empty: '',
  path: '/foo/bar',
  x: '1024',
  y: '768',
  half: '50%',
  base: 'http://example.com/home/',
};

test.each([
  ['{var}', 'value'],
  ['{hello}', 'Hello%20World%21'],
  ['{half}', '50%25'],
  ['O{empty}X', 'OX'],
  ['O{undef}X', 'OX'],
  ['{x,y}', '1024,768'],
  ['{var:3}', 'val'],
  ['{+var}', 'value'],
  ['{+hello}', 'Hello%20World!'],
  ['{+half}', '50%25'],
  ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
  ['{+base}index', 'http://example.com/home/index'],
  ['{+path}/here', '/foo/bar/here'],
  ['X{#var}', 'X#value'],
  ['X{#hello}', 'X#Hello%20World!'],
  ['X{.x,y}', 'X.1024.768'],
  ['{/var,x}/here', '/value/1024/here'],
  ['{;x,y,empty}', ';x=1024;y=768;empty'],
  ['{?x,y,empty}', '?x=1024&y=768&empty='],
  ['{?undef}', ''],
  ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
  ['{!broken}', '{!broken}'],
])('%s becomes %s', (template, uri) => {
  expect(expand(template, VALUES)).toBe(uri);
});

test('each variable is asked for once, and those of the query are optional', () => {
  expect(variablesOf('db://{table}/{+path}/{table}{?limit,offset*}')).toEqual([
    { name: 'table', optional: false },
    { name: 'path', optional: false },
    { name: 'limit', optional: true },
    { name: 'offset', optional: true },
  ]);
});
