import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'printer', version: '1.0.0' });

const book = {
  input: { type: 'object', properties: { title: { type: 'string' }, pages: { type: 'integer' } }, required: ['title'] },
} as const;

// Always a task. The caller polls it to read its progress and to answer its questions.
server.tool('print', { ...book, task: true }, async ({ title, pages = 3 }, context) => {
  for (let page = 1; page <= pages; page += 1) {
    await sleep(10, undefined, { signal: context.signal });
    void context.progress(page, pages, `Page ${page} of "${title}"`);
  }
  const cover = await context.elicit({
    message: 'Which colour is the cover?',
    schema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
  });
  return cover.action === 'accept' ? `Printed, in ${cover.content.colour}.` : 'Printed, without a cover.';
});

// A task only for large orders, after a confirmation. Small orders are answered at once.
server.tool('order', { ...book, task: { start: 'by-handler', ttlMs: 600_000 } }, async ({ pages = 3 }, context) => {
  if (pages > 100) {
    const sure = await context.elicit({
      message: `Really ${pages} pages?`,
      schema: { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'] },
    });
    if (sure.action !== 'accept' || !sure.content.yes) return 'Not ordered.';
    await context.startTask({ statusMessage: 'At the printer' });
    await sleep(pages, undefined, { signal: context.signal });
  }
  return `Ordered ${pages} pages.`;
});
