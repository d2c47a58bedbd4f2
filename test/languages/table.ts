import { CONNECTION, featuresOf, findingOf, headingOf, type Finding, type Language, type Row } from './language.ts';

/** Whether a feature passed in a row. In the docs, all do that have no finding. */
type Passed = (row: Row, feature: string) => boolean;

/** The matrix in Markdown: a row for each pair of a client and a server. */
export function matrixTable(languages: readonly Language[], passed?: Passed): string {
  const lines = languages.flatMap((language) =>
    language.rows.map((row) => {
      const names = featuresOf(language, row).map(({ name }) => name);
      if (findingOf(language, row, CONNECTION)) return [language.name, headingOf(row), '—', CONNECTION];
      const works = passed ?? ((_: Row, feature: string) => findingOf(language, row, feature) === undefined);
      const missing = names.filter((name) => !works(row, name));
      const whole = `${names.length - missing.length}/${names.length}`;
      return [language.name, headingOf(row), whole, missing.join(', ')];
    }),
  );
  return markdown(['SDK', 'Peer', 'Features', 'Fails or differs'], lines);
}

/** How many of the features work with each SDK, directly and through our bridge, in Markdown. */
export function summaryTable(languages: readonly Language[]): string {
  const share = (language: Language, rows: readonly Row[]): string => {
    const cells = rows.flatMap((row) => featuresOf(language, row).map(({ name }) => [row, name] as const));
    const works = ([row, name]: (typeof cells)[number]): boolean =>
      findingOf(language, row, CONNECTION) === undefined && findingOf(language, row, name) === undefined;
    return `${cells.filter(works).length} of ${cells.length}`;
  };
  const lines = languages.map((language) => {
    const direct = (peer: Row['peer']): string =>
      share(
        language,
        language.rows.filter((row) => row.peer === peer && row.across === undefined),
      );
    const bridged = language.rows.filter(({ across }) => across !== undefined);
    return [language.name, direct('server'), direct('client'), share(language, bridged)];
  });
  return markdown(['SDK', 'its server, our client', 'its client, our server', 'through our bridge'], lines);
}

/** Which SDKs have the tasks of 2026-07-28, in Markdown. */
export function tasksSentence(languages: readonly Language[]): string {
  const names = (has: boolean): string =>
    new Intl.ListFormat('en-GB').format(languages.filter(({ tasks }) => tasks === has).map(({ name }) => name));
  return `Tasks of 2026-07-28 are tested with ${names(true)}. ${names(false)} have no tasks.`;
}

/** The findings of all languages in Markdown. Several may have the same. */
export function findingsTable(languages: readonly Language[]): string {
  const found = new Map<string, Finding & { readonly names: string[] }>();
  for (const { name, findings } of languages) {
    for (const finding of findings) {
      const same = found.get(finding.what) ?? { ...finding, names: [] };
      found.set(finding.what, same);
      same.names.push(name);
    }
  }
  const lines = Array.from(found.values(), ({ names, features, what, rule, ours }) => [
    names.join(', '),
    features.join(', '),
    ...[what, rule, ours],
  ]);
  return markdown(['SDK', 'Feature', 'What happens', 'The specification', 'What Everwire does'], lines);
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(3, ...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
