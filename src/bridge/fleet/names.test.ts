import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wrapUri, unwrapUri } from './ids.ts';
import { PROMPTS, TOOLS } from './kinds.ts';
import { labelOf, MAX_NAME, Naming } from './names.ts';

const separators = fc.constantFrom('__', '_', '-', '.', '._-');
const word = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'a_',
    'a__b',
    'b__c',
    'search',
    'a__search',
    'x_0123456789',
    'a0123456789',
    'A',
    '_',
    '-',
    '.',
  ),
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', 'B', '7', ' ', 'ä', '😀', '/'), minLength: 1, maxLength: 90 }),
);
/** Names by server. No two servers have the same letters and digits. */
const fleets = fc
  .uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 8 })), {
    minLength: 2,
    maxLength: 5,
    selector: ([server]) => server.toLowerCase().replaceAll(/[^a-z0-9]/g, '') || server,
  })
  .map((entries) => new Map(entries));

const namingOf = (servers: Iterable<string>, separator?: string): Naming =>
  new Naming(
    [...servers].map((name) => ({ name })),
    { separator },
  );

describe('the names in a fleet', () => {
  test('are distinct, are accepted by hosts, and can be translated back', () => {
    fc.assert(
      fc.property(fleets, separators, (fleet, separator) => {
        const naming = namingOf(fleet.keys(), separator);
        const seen = new Set<string>();
        for (const [server, names] of fleet) {
          for (const name of names) {
            const outward = naming.outward(TOOLS, server, name);
            expect(outward.replace(separator, '')).toMatch(/^[A-Za-z0-9_-]+$/);
            expect(outward.length).toBeLessThanOrEqual(MAX_NAME);
            expect(seen).not.toContain(outward);
            seen.add(outward);
            const inward = naming.inward(TOOLS, outward)!;
            expect(inward.server).toBe(server);
            expect(inward.name).toBe(inward.shortened ? naming.behindPrefix(server, name) : name);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('depend only on the original name and its server', () => {
    fc.assert(
      fc.property(fleets, word, separators, (fleet, other, separator) => {
        const naming = namingOf(fleet.keys(), separator);
        const more = namingOf([`other ${other}`, ...[...fleet.keys()].toReversed()], separator);
        for (const [server, names] of fleet)
          for (const name of names) expect(more.outward(TOOLS, server, name)).toBe(naming.outward(TOOLS, server, name));
      }),
    );
  });

  test('are shortened at their end, with a hash that is always the same', () => {
    const server = 'a server with a long name, and spaces';
    expect(namingOf([server, 'b']).outward(PROMPTS, server, 'get the weather')).toBe(
      'a-server-with-a-long-n366f5577ce__get_the_weather_1e0e0ffac0',
    );
  });

  test.each([
    ['My mail', '__', 'My-mail__x'],
    ['my_mail', '__', 'my_mail__x'],
    ['my__mail', '__', 'my-mail__x'],
    ['my_mail', '_', 'my-mail_x'],
    ['my.mail', '-', 'my_mail-x'],
    ['_my mail_', '_-', 'mymail_-x'],
  ])('begin with the letters and digits of the server %j, before %j', (server, separator, name) => {
    expect(namingOf([server, 'b'], separator).outward(TOOLS, server, 'x')).toBe(name);
  });

  test.each([
    ['My mail', 'my_mail'],
    ['GitHub', 'github'],
    ['a.b', 'a-b'],
  ])('are refused for servers named %j and %j', (one, other) => {
    expect(() => namingOf([one, other])).toThrow(
      `the names "${one}" and "${other}" have the same letters and digits; rename one`,
    );
  });

  test('are those of the configuration if it renames a tool', () => {
    const naming = new Naming([{ name: 'a', tools: { rename: { x: 'y.z_0123456789' } } }, { name: 'b' }]);
    expect(naming.outward(TOOLS, 'a', 'y.z_0123456789')).toBe('y.z_0123456789');
    expect(naming.inward(TOOLS, 'y.z_0123456789')).toEqual({ server: 'a', name: 'y.z_0123456789', shortened: false });
    expect(naming.inward(PROMPTS, 'y.z_0123456789')).toBeUndefined();
  });
});

describe('labels of servers', () => {
  test('are valid in a URI', () => {
    fc.assert(fc.property(word, (server) => /^[a-z0-9][a-z0-9-]{0,31}$/.test(labelOf(server))));
  });

  test('can be translated back, even for a URI that already has a label', () => {
    fc.assert(
      fc.property(word, fc.oneof(fc.string(), fc.constant('everwire+a:file:///a')), (server, uri) => {
        const label = labelOf(server);
        expect(unwrapUri(wrapUri(label, uri))).toEqual({ label, uri });
      }),
    );
  });
});
