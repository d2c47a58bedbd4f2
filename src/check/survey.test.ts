import { onTestFinished, expect, test } from 'vitest';
import { askingServer } from '../../test/support/asking-server.ts';
import { Capture } from '../inspect/capture.ts';
import type { Revision } from '../protocol/revisions.ts';
import { Marks } from './marks.ts';
import type { GivenAnswers } from './questions.ts';
import { survey, type Survey } from './survey.ts';

async function surveyed(revision: Revision, answers?: GivenAnswers): Promise<Survey> {
  const { server, close } = await askingServer('mcp');
  onTestFinished(close);
  const marks = new Marks(new Capture());
  const { signal } = new AbortController();
  const calls = [{ tool: 'ask', args: {} }];
  return survey(revision, 'streamable-http', { server, marks, patience: 5000, signal, calls, answers });
}

const DECLINED = [
  { what: 'elicitation/create was declined', how: `--answers '{"elicit":…}'` },
  { what: 'sampling/createMessage was declined', how: `--answers '{"sample":…}'` },
  { what: 'roots/list was answered with no roots', how: '--root <directory>' },
];

test.each(['2025-06-18', '2025-11-25'] as const)('in %s, questions of the server are declined', async (revision) => {
  const { notTried } = await surveyed(revision);
  expect(notTried).toEqual(DECLINED);
});

test('in 2026-07-28, a call is not continued after a request to a model was declined', async () => {
  const { notTried } = await surveyed('2026-07-28');
  expect(notTried).toEqual([...DECLINED, { what: 'the tool ask failed: The user declined', how: undefined }]);
});

test.each(['2025-11-25', '2026-07-28'] as const)('in %s, given answers are sent', async (revision) => {
  const asked: string[] = [];
  const { notTried } = await surveyed(revision, {
    onelicit: ({ message }) => {
      asked.push(message);
      return { action: 'accept' };
    },
    onsample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'yes' } }),
    onroots: () => [{ uri: 'file:///a' }],
  });
  expect({ asked, notTried }).toEqual({ asked: ['Go on?'], notTried: [] });
});
