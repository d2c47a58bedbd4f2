import { Linter } from '../../src/lint/linter.ts';
import type { PageFinding } from './finding.ts';
import { lintRecordOf, type SentRecord } from './sent-record.ts';

/** Judges records in a thread of its own, so that the page stays quick. Each message is a batch of records. */

const linter = new Linter();

self.onmessage = ({ data }: MessageEvent<readonly SentRecord[]>): void => {
  // The page gets the error.
  judge(data).then((found) => self.postMessage(found, { transfer: [] }), reportError);
};

async function judge(records: readonly SentRecord[]): Promise<readonly PageFinding[]> {
  const found: PageFinding[] = [];
  for (const record of records)
    for (const { rule, ...finding } of await linter.add(lintRecordOf(record))) {
      const { id, area, severity, right } = rule;
      found.push({ ...finding, rule: id, area, severity, right });
    }
  return found;
}
