import { expect } from 'vitest';
import type { Feature } from '../interop/features.ts';
import { eventually } from '../support/process.ts';

/**
 * A task of 2026-07-28 that asks, and one that is cancelled. The tool `errand` runs only as a task: it answers with what
 * it was told, and never ends if that is "Nobody".
 */
export const tasks: Feature = {
  name: 'tasks',
  has: () => true,
  run: async ({ callTool, questions, answers }) => {
    const errand = { name: 'errand', arguments: {} };
    const from = questions.length;
    const { content } = await callTool(errand);
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining('Ada') }]);
    const question = { method: 'elicitation/create', params: expect.objectContaining({ message: 'Who are you?' }) };
    expect(questions.slice(from)).toEqual([question]);

    const cancelled = async (): Promise<number> => {
      const result = await callTool({ name: 'cancelled-errands', arguments: {} });
      return Number(result['content'][0].text);
    };
    const before = await cancelled();
    const cancel = new AbortController();
    const answer = answers.elicitation;
    answers.elicitation = () => {
      setTimeout(() => cancel.abort(new Error('enough')));
      return { action: 'accept', content: { name: 'Nobody' } };
    };
    try {
      await expect(callTool(errand, { signal: cancel.signal })).rejects.toThrow(/enough|cancelled/);
      await eventually(async () => (await cancelled()) === before + 1, 'the task learns that it was cancelled');
    } finally {
      answers.elicitation = answer;
    }
  },
};
