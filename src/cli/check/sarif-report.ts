import { printable } from '../../base/printable.ts';
import { VERSION } from '../../version.ts';
import type { RuleInfo, Severity } from '../../lint/index.ts';
import { clauseUrl } from '../../lint/clause-url.ts';
import type { CheckReport } from './check-report.ts';

const LEVELS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', advice: 'note' };

/** A report as SARIF 2.1.0. A finding is at the recording or the server, and its message names the record. */
export function sarifReport({ target, breaches, passed, notExercised }: CheckReport): string {
  const uri = relativeReference(target);
  const rules = [...new Map(breaches.map(({ rule }) => [rule.id, rule])).values(), ...passed, ...notExercised];
  const report = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'everwire',
            version: VERSION,
            informationUri: 'https://everwire.dev',
            rules: rules.map(descriptor),
          },
        },
        results: breaches.flatMap(({ rule, findings }) =>
          findings.map((finding) => ({
            ruleId: rule.id,
            ruleIndex: rules.findIndex(({ id }) => id === rule.id),
            level: LEVELS[rule.severity],
            message: {
              text: `${rule.right} Seen${recordText(finding.records)}: ${finding.seen} (${finding.revision}, ${finding.clause}: ${clauseUrl(finding)})`,
            },
            locations: [
              {
                physicalLocation: { artifactLocation: { uri }, region: { startLine: 1 } },
                logicalLocations: finding.records.map((n) => ({ name: `record ${n}`, kind: 'element' })),
              },
            ],
          })),
        ),
      },
    ],
  };
  return `${printable(JSON.stringify(report, undefined, 2))}\n`;
}

function descriptor({ id, severity, right, area }: RuleInfo): Record<string, unknown> {
  return {
    id,
    shortDescription: { text: right },
    defaultConfiguration: { level: LEVELS[severity] },
    properties: { area },
  };
}

function recordText([n]: readonly number[]): string {
  return n === undefined ? '' : ` in record ${n}`;
}

/**
 * A path as a relative reference. A URL without its scheme: GitHub accepts only paths, and takes what is before a colon
 * for a scheme, so the one before a port is escaped.
 */
function relativeReference(target: string): string {
  if (/^https?:\/\//.test(target)) {
    const { host, pathname } = new URL(target);
    return host.replaceAll(':', '%3A') + pathname;
  }
  return target.split(/[/\\]/).map(encodeURIComponent).join('/');
}
