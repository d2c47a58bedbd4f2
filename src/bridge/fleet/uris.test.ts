import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { labelOf } from './names.ts';
import { unwrapUri, UriTable, wrapUri } from './uris.ts';

type Listed = Record<string, { uris?: string[]; templates?: string[] }>;

function tableOf(listed: Listed): UriTable {
  const labels = new Map(Object.keys(listed).map((member) => [member, labelOf(member)]));
  const ids = Object.entries(listed).map(
    ([member, { uris = [], templates = [] }]) =>
      [member, { uris: new Set(uris), templates: new Set(templates) }] as const,
  );
  return new UriTable(labels, new Map(ids));
}

/** Where what is outside leads, as the fleet finds it out. */
function inward(table: UriTable, listed: Listed, outer: string): { members: readonly string[]; uri: string } {
  const wrapped = unwrapUri(outer);
  const member = Object.keys(listed).find((each) => labelOf(each) === wrapped?.label);
  if (wrapped && member !== undefined) return { members: [member], uri: wrapped.uri };
  return { members: table.owners(outer), uri: outer };
}

const uri = fc.oneof(
  fc.constantFrom('file:///a', 'file:///b', 'FILE:///a', 'db://x/1', 'ui://app', 'plain', '', 'everwire+a:file:///a'),
  fc.string({ unit: fc.constantFrom('a', ':', '/', 'b', '?'), maxLength: 8 }),
);
const template = fc.oneof(
  fc.constantFrom(
    'file:///{x}',
    'file:///{x}.txt',
    'db://x/{id}',
    'db://{table}/{id}',
    '{+any}',
    'file:///a',
    'ui://{a}{?b}',
  ),
);
const fleets: fc.Arbitrary<Listed> = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'A server'),
  fc.record({ uris: fc.uniqueArray(uri, { maxLength: 5 }), templates: fc.uniqueArray(template, { maxLength: 3 }) }),
  { minKeys: 1 },
);

describe('the URIs of several servers', () => {
  test('lead back, listed or not, and stay distinct', () => {
    fc.assert(
      fc.property(fleets, fc.array(uri), (listed, others) => {
        const table = tableOf(listed);
        for (const [member, { uris = [] }] of Object.entries(listed)) {
          for (const each of [...uris, ...others]) {
            expect(inward(table, listed, table.outward(member, each))).toEqual({ members: [member], uri: each });
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('of templates lead back, whatever becomes of the variables', () => {
    fc.assert(
      fc.property(fleets, fc.string(), (listed, value) => {
        const table = tableOf(listed);
        for (const [member, { templates = [] }] of Object.entries(listed)) {
          for (const each of templates) {
            const fill = (text: string): string => text.replaceAll(/\{[^}]*\}/g, () => value.replaceAll(/[{}]/g, ''));
            const outer = table.outwardTemplate(member, each);
            // What its own server lists, too, is its own all the same.
            expect(inward(table, listed, fill(outer))).toEqual({ members: [member], uri: fill(each) });
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('stay as they are where they lead back by themselves', () => {
    const table = tableOf({
      notes: { uris: ['note:1', 'file:///both', 'file:///n'], templates: ['note:{id}'] },
      files: { uris: ['file:///both', 'file:///f'], templates: ['file:///tmp/{name}'] },
    });
    expect(table.outward('notes', 'note:1')).toBe('note:1');
    expect(table.outward('notes', 'note:77')).toBe('note:77');
    expect(table.outward('notes', 'file:///n')).toBe('file:///n');
    expect(table.outward('files', 'file:///tmp/x')).toBe('file:///tmp/x');
    expect(table.outwardTemplate('notes', 'note:{id}')).toBe('note:{id}');
    expect(table.outwardTemplate('files', 'file:///tmp/{name}')).toBe('file:///tmp/{name}');
  });

  test('name their server where two have them, or nothing tells whose they are', () => {
    const table = tableOf({
      notes: { uris: ['file:///both', 'file:///tmp/mine'] },
      files: { uris: ['file:///both'], templates: ['file:///tmp/{name}'] },
    });
    expect(table.outward('notes', 'file:///both')).toBe('everwire+notes:file:///both');
    expect(table.outward('files', 'file:///both')).toBe('everwire+files:file:///both');
    expect(table.outward('notes', 'file:///unlisted')).toBe('everwire+notes:file:///unlisted');
    expect(table.outwardTemplate('files', 'file:///tmp/{name}')).toBe('everwire+files:file:///tmp/{name}');
    expect(table.owners('file:///unlisted')).toEqual(['notes', 'files']);
  });

  test('of a server that stands for several itself are told from ours', () => {
    const inner = wrapUri('notes', 'file:///a');
    const table = tableOf({ notes: { uris: ['x:1'] }, fleet: { uris: [inner] } });
    expect(table.outward('fleet', inner)).toBe('everwire+fleet:everwire+notes:file:///a');
  });
});
