/** What the official servers ask for. */
export const FORM = {
  message: 'Who are you?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const, title: 'Name' } },
    required: ['name'],
  },
};

export const VISIT = { message: 'Please sign in', url: 'https://example.com/sign-in' };

/** What the prompts say, each on a page of its own. */
export const VERBS = ['Greet', 'Thank', 'Praise'];
