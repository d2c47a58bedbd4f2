/** An official SDK without tests, and what they would need. */
interface Untested {
  readonly language: string;
  readonly sdk: string;
  readonly needs: string;
}

export const untested: readonly Untested[] = [
  { language: 'C#', sdk: '`ModelContextProtocol`', needs: 'the .NET SDK' },
  { language: 'PHP', sdk: '`mcp/sdk`', needs: 'PHP and Composer' },
  { language: 'Ruby', sdk: 'the gem `mcp`', needs: 'Ruby' },
  { language: 'Swift', sdk: '`swift-sdk`', needs: 'Swift' },
];

const list = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words);

/** The languages, in Markdown. */
export function untestedSentence(): string {
  const names = list(untested.map(({ language, sdk }) => `${language} (${sdk})`));
  return `The official SDKs of ${names} are not tested, because the tests have no programs in these languages.`;
}

/** A line for each language. */
export function untestedLines(): string[] {
  return untested.map(
    ({ language, sdk, needs }) =>
      `not tested: ${language} (${sdk.replaceAll('`', '')}): there are no programs for it, and ${needs} would be needed`,
  );
}
