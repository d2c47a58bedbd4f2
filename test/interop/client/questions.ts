/** What the official servers ask. */
export const FORM = {
  message: 'Who are you?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const, title: 'Name' } },
    required: ['name'],
  },
};

export const VISIT = { message: 'Please sign in', url: 'https://example.com/sign-in' };
