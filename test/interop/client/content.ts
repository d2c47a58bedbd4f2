/** The questions of the official servers. */
export const FORM = {
  message: 'Who are you?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const, title: 'Name' } },
    required: ['name'],
  },
};

export const VISIT = { message: 'Please sign in', url: 'https://example.com/sign-in' };

/** The texts of the prompts, each on its own page. */
export const VERBS = ['Greet', 'Thank', 'Praise'];
