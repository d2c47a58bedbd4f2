import { expect, test } from 'vitest';
import { changesOf, nextVersion, releasedChangelog, releasedLock, releasedManifest } from './release-files.ts';

test.each([
  ['major', '2.0.0'],
  ['minor', '1.3.0'],
  ['patch', '1.2.4'],
  ['1.10.0', '1.10.0'],
])('the version after 1.2.3 with %s is %s', (wanted, next) => {
  expect(nextVersion('1.2.3', wanted)).toBe(next);
});

test.each(['1.2.3', '1.2.2', '1.1.9', '0.9.9', 'next', '1.3', 'v1.3.0'])('%s cannot follow 1.2.3', (wanted) => {
  expect(() => nextVersion('1.2.3', wanted)).toThrow(/is not later than|is neither/);
});

const changelog = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\nThe first version.\n';

test('unreleased changes become those of the version', () => {
  const released = releasedChangelog(changelog, '0.2.0');
  expect(released).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n### Added\n\n- A thing.\n\n## 0.1.0\n\nThe first version.\n',
  );
  expect(changesOf(released, '0.2.0')).toBe('### Added\n\n- A thing.');
  expect(() => releasedChangelog(released, '0.3.0')).toThrow('CHANGELOG.md names no unreleased changes');
  expect(() => releasedChangelog('# Changelog\n', '0.3.0')).toThrow('no section "Unreleased"');
});

test('a manifest gets the version, and depends on it', () => {
  const text =
    '{\n  "name": "a",\n  "version": "0.1.0",\n  "dependencies": {\n    "everwire": "^0.1.0",\n    "b": "1"\n  }\n}\n';
  expect(releasedManifest(text, '0.2.0')).toBe(
    text.replace('"version": "0.1.0"', '"version": "0.2.0"').replace('^0.1.0', '^0.2.0'),
  );
  // A template has no version.
  expect(releasedManifest('{\n  "name": "a"\n}\n', '0.2.0')).toBe('{\n  "name": "a"\n}\n');
});

test('only the released packages of a lock file get the version', () => {
  const lock = {
    version: '0.1.0',
    packages: { '': { version: '0.1.0' }, 'packages/a': { version: '0.1.0' }, 'node_modules/b': { version: '0.1.0' } },
  };
  expect(JSON.parse(releasedLock(JSON.stringify(lock), '0.2.0', ['', 'packages/a']))).toEqual({
    version: '0.2.0',
    packages: { '': { version: '0.2.0' }, 'packages/a': { version: '0.2.0' }, 'node_modules/b': { version: '0.1.0' } },
  });
});
