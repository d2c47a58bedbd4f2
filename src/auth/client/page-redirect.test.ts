import { beforeEach, expect, test, vi } from 'vitest';
import type { LoginAttempt } from './redirect.ts';

const PAGE = 'https://app.example/';
const ISSUER = 'https://login.example';
const [NOTES, FILES] = ['https://notes.example/mcp', 'https://files.example/mcp'];

const stored = new Map<string, string>();
beforeEach(() => stored.clear());

/** Loads the page at this address. What it had in memory is gone. */
async function load(href: string) {
  const page = {
    shown: href,
    left: undefined as string | undefined,
    location: {
      get href(): string {
        return page.shown;
      },
      assign: (url: string) => void (page.left = url),
    },
    addEventListener: (_type: string, listener: (event: { persisted: boolean }) => void) => void (page.show = listener),
    show: undefined as ((event: { persisted: boolean }) => void) | undefined,
    history: { state: null, replaceState: (_state: unknown, _unused: string, url: string) => void (page.shown = url) },
    sessionStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
      removeItem: (key: string) => void stored.delete(key),
    },
  };
  vi.stubGlobal('window', page);
  vi.resetModules();
  const { pageRedirect } = await import('./page-redirect.ts');
  const start = (server: string, issuer = ISSUER): Promise<LoginAttempt> =>
    pageRedirect(PAGE).start([], undefined, { server, issuer });
  return { page, start };
}

/** Leaves the page for a login. */
function leave(login: LoginAttempt, name: string): void {
  const url = new URL(`${ISSUER}/authorize?for=${name}`);
  const request = { url, state: `state of ${name}`, verifier: `verifier of ${name}`, issuer: ISSUER };
  login.authorize({ ...request, signal: new AbortController().signal }).catch(() => {});
}

const back = (name: string): string => `${PAGE}?code=code+of+${name}&state=state+of+${name}&view=all`;

const resultOf = (login: LoginAttempt) => {
  const { state, verifier, answer } = login.returned!() ?? {};
  return [state, verifier, answer?.get('code')];
};
const expected = (name: string) => [`state of ${name}`, `verifier of ${name}`, `code of ${name}`];

test('each of two servers of one issuer gets the answer to its own login, whichever connects first', async () => {
  const first = await load(PAGE);
  const notes = await first.start(NOTES);
  expect(notes.returned!()).toBeUndefined();
  leave(notes, 'notes');
  expect(first.page.left).toBe(`${ISSUER}/authorize?for=notes`);

  const second = await load(back('notes'));
  const files = await second.start(FILES);
  expect(files.returned!()).toBeUndefined();
  leave(files, 'files');
  expect(second.page.left).toBe(`${ISSUER}/authorize?for=files`);

  const third = await load(back('files'));
  for (const [server, name] of [
    [NOTES, 'notes'],
    [FILES, 'files'],
  ] as const) {
    const login = await third.start(server);
    expect(resultOf(login)).toEqual(expected(name));
    // An answer is used once.
    expect(login.returned!()).toBeUndefined();
    await login.close();
  }
  expect(third.page).toMatchObject({ shown: `${PAGE}?view=all`, left: undefined });
  expect(stored.size).toBe(0);
});

test('the page is not left while another login is being finished', async () => {
  leave(await (await load(PAGE)).start(NOTES), 'notes');
  const { page, start } = await load(back('notes'));
  const notes = await start(NOTES);
  expect(resultOf(notes)).toEqual(expected('notes'));
  const files = start(FILES).then((login) => leave(login, 'files'));
  await new Promise<void>((resolve) => void setImmediate(resolve));
  expect(page.left).toBeUndefined();
  await notes.close();
  await files;
  expect(page.left).toBe(`${ISSUER}/authorize?for=files`);
});

test('an answer of another issuer, or to a login that was begun again, is ignored', async () => {
  leave(await (await load(PAGE)).start(NOTES), 'notes');
  const other = await (await load(back('notes'))).start(NOTES, 'https://other.example');
  expect(other.returned!()).toBeUndefined();
  leave(await (await load(PAGE)).start(NOTES), 'newer');
  expect((await (await load(back('notes'))).start(NOTES)).returned!()).toBeUndefined();
  expect(resultOf(await (await load(back('newer'))).start(NOTES))).toEqual(expected('newer'));
});

test('a login that nobody waits for any more does not leave the page', async () => {
  const { page, start } = await load(PAGE);
  const login = await start(NOTES);
  const reason = new Error('closed');
  const request = { url: new URL(ISSUER), state: 's', verifier: 'v', issuer: ISSUER };
  await expect(login.authorize({ ...request, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(page.left).toBeUndefined();
  expect(stored.size).toBe(0);
});

test('if the user goes back from the login page, the login has ended, and the next one begins', async () => {
  const { page, start } = await load(PAGE);
  const notes = await start(NOTES);
  const request = { url: new URL(ISSUER), state: 's', verifier: 'v', issuer: ISSUER };
  const outcome = notes.authorize({ ...request, signal: new AbortController().signal });
  const next = start(FILES);
  page.show!({ persisted: true });
  await expect(outcome).rejects.toMatchObject({ code: 'authorization', message: 'The user has left the login page' });
  await notes.close();
  leave(await next, 'files');
  expect(page.left).toBe(`${ISSUER}/authorize?for=files`);
});
