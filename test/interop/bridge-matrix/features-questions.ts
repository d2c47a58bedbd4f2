import { expect } from 'vitest';
import { eventually } from '../../support/process.ts';
import { always, rejection, SAME, since, textOf, type Cell, type Feature } from './feature.ts';
import { CHOICES, FORM, HAMMER, VISIT_URL } from './shown.ts';

type JsonObject = Record<string, any>;
type Kinds = 'sampling' | 'elicitation' | 'roots';

const REFUSED = 'an error that says what the client does not support';

/** Calls a tool that asks. Returns the question and the result of the tool. */
async function asked(
  { client }: Cell,
  name: string,
  kind: Kinds,
  answer: JsonObject,
): Promise<{ questions: JsonObject[]; given: unknown }> {
  const from = client.questions.length;
  const before = client.answers[kind];
  client.answers[kind] = () => answer;
  try {
    const given: unknown = JSON.parse(textOf(await client.callTool({ name })));
    return { questions: client.questions.slice(from), given };
  } finally {
    client.answers[kind] = before;
  }
}

/** Calls a tool whose question the client does not support. */
async function notAsked({ client }: Cell, name: string, capability: RegExp): Promise<void> {
  const from = client.questions.length;
  const outcome = await client.callTool({ name }).catch((error: Error & { code?: number }) => error);
  if (outcome instanceof Error) {
    expect(outcome.message).toMatch(capability);
    expect(outcome.code).toBe(-32601);
  } else {
    // In a session, the official server 2.x detects this itself, and tells the model.
    expect(outcome).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(capability) }] });
  }
  expect(client.questions.slice(from)).toEqual([]);
}

/** Questions of a server during a call. */
export const questionFeatures: readonly Feature[] = [
  {
    name: 'elicitation by form',
    arrives: since('2025-06-18', REFUSED),
    run: async (cell, arrives) => {
      if (arrives !== SAME) return notAsked(cell, 'ask', /elicitation/);
      const accept = { action: 'accept', content: { name: 'Ada' } };
      const { questions, given } = await asked(cell, 'ask', 'elicitation', accept);
      expect(questions).toEqual([{ method: 'elicitation/create', params: expect.objectContaining(FORM) }]);
      expect(given).toMatchObject(accept);
      const { given: declined } = await asked(cell, 'ask', 'elicitation', { action: 'decline' });
      expect(declined).toMatchObject({ action: 'decline' });
    },
  },
  {
    name: 'elicitation of choices',
    arrives: (down, up) => {
      if (up.revision < '2025-11-25') return undefined;
      if (down.revision < '2025-06-18') return REFUSED;
      return down.revision < '2025-11-25' ? 'a form of plain fields; the answers are combined' : SAME;
    },
    run: async (cell, arrives) => {
      if (arrives === REFUSED) return notAsked(cell, 'choose', /elicitation/);
      const chosen = { size: 'l', colors: ['blue'] };
      const plain = { size: 'l', 'colors.red': false, 'colors.blue': true };
      const content = arrives === SAME ? chosen : plain;
      const { questions, given } = await asked(cell, 'choose', 'elicitation', { action: 'accept', content });
      expect(given).toMatchObject({ action: 'accept', content: chosen });
      const { properties } = questions[0]!['params'].requestedSchema;
      if (arrives === SAME) return expect(properties).toEqual(CHOICES.requestedSchema.properties);
      expect(properties).toEqual({
        size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
        'colors.red': { type: 'boolean', title: 'colors: red' },
        'colors.blue': { type: 'boolean', title: 'colors: blue' },
      });
    },
  },
  {
    name: 'elicitation by URL',
    arrives: since('2025-11-25', REFUSED),
    run: async (cell, arrives) => {
      if (arrives !== SAME) return notAsked(cell, 'visit', /elicitation/);
      const { questions, given } = await asked(cell, 'visit', 'elicitation', { action: 'accept' });
      const wanted = { mode: 'url', url: VISIT_URL, message: 'Please sign in' };
      expect(questions).toEqual([{ method: 'elicitation/create', params: expect.objectContaining(wanted) }]);
      expect(given).toMatchObject({ action: 'accept' });
    },
  },
  {
    name: 'sampling',
    arrives: always,
    run: async (cell) => {
      const answer = {
        role: 'assistant',
        content: { type: 'text', text: 'Something' },
        model: 'm',
        stopReason: 'endTurn',
      };
      const { questions, given } = await asked(cell, 'sample', 'sampling', answer);
      const messages = [{ role: 'user', content: { type: 'text', text: 'Say something' } }];
      expect(questions).toEqual([
        {
          method: 'sampling/createMessage',
          params: expect.objectContaining({ messages, maxTokens: 9, systemPrompt: 'Be brief' }),
        },
      ]);
      expect(given).toMatchObject(answer);
    },
  },
  {
    name: 'cancellation while asked',
    // Without a session, a question ends the request for both the client and the server.
    arrives: (down, up) => (down.revision < '2026-07-28' && up.revision < '2026-07-28' ? SAME : undefined),
    run: async ({ client, world }) => {
      const before = { answer: client.answers.sampling, cancelled: world.cancelled };
      const controller = new AbortController();
      client.answers.sampling = () => {
        controller.abort(new Error('enough'));
        return new Promise(() => {});
      };
      try {
        const { message } = await rejection(client.callTool({ name: 'sample' }, { signal: controller.signal }));
        expect(message).toMatch(/enough|cancelled|abort/i);
      } finally {
        client.answers.sampling = before.answer;
      }
      await eventually(() => world.cancelled === before.cancelled + 1, 'the server learns that the call was cancelled');
      expect(textOf(await client.callTool({ name: 'echo', arguments: {} }))).toBe('{}');
    },
  },
  {
    name: 'sampling with tools',
    arrives: since('2025-11-25', REFUSED),
    run: async (cell, arrives) => {
      if (arrives !== SAME) return notAsked(cell, 'sample-with-tools', /sampling/);
      const use = { type: 'tool_use', id: 'use-1', name: 'hammer', input: { nail: 1 } };
      const answer = { role: 'assistant', content: [use], model: 'm', stopReason: 'toolUse' };
      const { questions, given } = await asked(cell, 'sample-with-tools', 'sampling', answer);
      expect(questions[0]!['params']).toMatchObject({ tools: [HAMMER], toolChoice: { mode: 'auto' } });
      expect(given).toMatchObject(answer);
    },
  },
  {
    name: 'roots',
    arrives: always,
    run: async (cell) => {
      const roots = [{ uri: 'file:///tmp/elsewhere', name: 'elsewhere' }];
      const { questions, given } = await asked(cell, 'roots', 'roots', { roots });
      expect(questions.map(({ method }) => method)).toEqual(['roots/list']);
      expect(given).toMatchObject({ roots });
    },
  },
  {
    name: 'required URL elicitation',
    // Only 2025-11-25 has this error.
    arrives: (down, up) => {
      if (up.revision !== '2025-11-25') return undefined;
      if (down.revision > '2025-11-25') return 'a question, and the call is repeated';
      return down.revision < '2025-11-25' ? 'error −32603 with the URLs' : SAME;
    },
    run: async (cell, arrives) => {
      const { client, world, down } = cell;
      const wanted = expect.objectContaining({ mode: 'url', url: VISIT_URL, message: 'Sign in' });
      if (down.revision > '2025-11-25') {
        const from = client.questions.length;
        const before = client.answers.elicitation;
        client.answers.elicitation = () => {
          world.visited = true;
          return { action: 'accept' };
        };
        try {
          expect(textOf(await client.callTool({ name: 'demand' }))).toBe('done');
        } finally {
          client.answers.elicitation = before;
          world.visited = false;
        }
        return expect(client.questions.slice(from)).toEqual([{ method: 'elicitation/create', params: wanted }]);
      }
      const error = await rejection(client.callTool({ name: 'demand' }));
      const code = arrives === SAME ? -32042 : -32603;
      expect(error).toMatchObject({ code, data: { elicitations: [wanted] } });
    },
  },
];
