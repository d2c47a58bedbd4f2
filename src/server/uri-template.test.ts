import { describe, expect, expectTypeOf, test } from 'vitest';
import { UriTemplate, type TemplateVariables } from './uri-template.ts';

const match = (template: string, uri: string) => new UriTemplate(template).match(uri);

describe('a URI template', () => {
  test.each<[string, string, Record<string, string> | undefined]>([
    ['greeting://{name}', 'greeting://Ada', { name: 'Ada' }],
    ['greeting://{name}', 'greeting://', undefined],
    ['greeting://{name}', 'greeting://a/b', undefined],
    ['greeting://{name}', 'hello://Ada', undefined],
    ['greeting://{name}', 'greeting://Ad%C3%A9%20L', { name: 'Adé L' }],
    ['greeting://{name}', 'greeting://a%2Fb', { name: 'a/b' }],
    ['a://{x}/{y}', 'a://1/2', { x: '1', y: '2' }],
    ['a://{x}/{y}', 'a://1/2/3', undefined],
    ['a://{x}-{y}', 'a://1-2-3', { x: '1', y: '2-3' }],
    ['a://{x}.txt', 'a://b.txt', { x: 'b' }],
    ['a://{x}.txt', 'a://b.txt.txt', { x: 'b.txt' }],
    ['a://{x}.txt', 'a://.txt', undefined],
    ['a://{x}.txt', 'a://b.txt?', undefined],
    ['a://{x,y}', 'a://1,2', { x: '1', y: '2' }],
    ['a:/{/x,y}/z', 'a://1/2/z', { x: '1', y: '2' }],
    ['file:///{+path}', 'file:///a/b?c#d', { path: 'a/b?c#d' }],
    ['file:///{+path}', 'file:///', undefined],
    ['file:///{+path}/v/{version}', 'file:///a/v/b/v/2', { path: 'a/v/b', version: '2' }],
    ['file:///{+path}.{ext}', 'file:///a.b.c', { path: 'a.b', ext: 'c' }],
    ['{scheme}://{+rest}', 'db://a/b', { scheme: 'db', rest: 'a/b' }],
    ['a/{+path}/{b}', 'a/x', undefined],
    ['a/{+path}/{b}', 'a/x/', undefined],
    ['db://{table}{?limit,after}', 'db://users', { table: 'users' }],
    ['db://{table}{?limit,after}', 'db://users?after=a%26b&limit=2', { table: 'users', limit: '2', after: 'a&b' }],
    ['db://{table}{?limit}', 'db://users?other=1&limit', { table: 'users', limit: '' }],
    ['db://{table}{?limit}', 'db://users?limit=%&limit=1&limit=2', { table: 'users', limit: '2' }],
    ['db://q?id={id}', 'db://q?id=7', { id: '7' }],
    ['fixed://one', 'fixed://one', {}],
    ['fixed://one', 'fixed://one/two', undefined],
  ])('such as %s is matched with %s', (template, uri, variables) => {
    expect(match(template, uri)).toEqual(variables);
  });

  test.each(['greeting://%', 'greeting://%zz', 'greeting://%ff'])(
    'refuses %s, whose percent-encoding is broken',
    (uri) => {
      expect(() => match('greeting://{name}', uri)).toThrow(expect.objectContaining({ code: -32602, data: { uri } }));
    },
  );

  test.each([
    ['a{', 'a { without }'],
    ['a}', 'a } without {'],
    ['{a{b}}', 'is not supported'],
    ['{}', 'is not supported'],
    ['{#a}', 'operator # is not supported'],
    ['{a*}', 'is not supported'],
    ['{a}{b}', 'there must be text between {a} and {b}'],
    ['{a}/{a}', 'a variable occurs twice'],
    ['{+a}/{+b}', 'only one reserved variable'],
    ['{?a}/b', '{?...} must be at the end'],
  ])('%s is refused', (template, why) => {
    expect(() => new UriTemplate(template)).toThrow(why);
  });

  test('a URI of 65,536 characters is matched, and a longer one is refused', () => {
    const template = new UriTemplate('a://{x}');
    expect(template.match(`a://${'x'.repeat(65_532)}`)?.['x']).toHaveLength(65_532);
    const long = `a://${'x'.repeat(65_533)}`;
    const why = 'a resource URI must not be longer than 65536 characters';
    expect(() => template.match(long)).toThrow(
      expect.objectContaining({ code: -32602, message: `Invalid params: ${why}` }),
    );
    expect(template.fits(long)).toBe(false);
  });

  test('a hostile URI takes linear time', () => {
    const template = new UriTemplate('{a}-{b}-{c}-{+d}-{e}-{f}/x');
    const before = process.cpuUsage();
    for (const uri of ['-'.repeat(60_000), 'a'.repeat(60_000), `${'a-'.repeat(30_000)}b`, '/'.repeat(60_000)]) {
      // Compared without the value itself, which a failure would print.
      expect(template.match(uri) === undefined).toBe(true);
    }
    // In quadratic time, it would take many seconds.
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  test('types contain the variables', () => {
    expectTypeOf<TemplateVariables<'db://{table}/{+path}{?limit,after}'>>().branded.toEqualTypeOf<{
      table: string;
      path: string;
      limit?: string;
      after?: string;
    }>();
    expectTypeOf<TemplateVariables<'a:{/b,c}'>>().branded.toEqualTypeOf<{ b: string; c: string }>();
    expectTypeOf<TemplateVariables<string>>().toEqualTypeOf<Record<string, string>>();
  });
});
