import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { WirePage } from './support/wire.ts';
import { describeInBrowser, openPage, type OpenOptions, type OpenPage } from './support/browser.ts';
import { STEP_TITLES, STEPS } from '../../src/auth/steps/step.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { fixedState } from '../../src/inspect/page-server/state-feed.ts';
import { Inspector } from '../../src/inspector/inspector.ts';
import { startAuthorizationFixture, type Faults, type Fixture } from '../support/authorization-fixture.ts';

interface AuthPage extends OpenPage {
  readonly fixture: Fixture;
  readonly next: (name?: string | RegExp) => Promise<void>;
  /** The card of a step. */
  readonly step: (title: string) => ReturnType<Page['getByRole']>;
  /** Opens the login page, which agrees at once. */
  readonly logIn: () => Promise<void>;
}

async function openAuth(browser: Browser, faults: Faults = {}, options: OpenOptions = {}): Promise<AuthPage> {
  const fixture = await startAuthorizationFixture(faults);
  onTestFinished(() => fixture.close());
  const capture = new Capture();
  const server = { kind: 'url', url: new URL(fixture.url), headers: {} } as const;
  const choice = { id: 'n', name: 'Notes', source: 'mcp.json', detail: fixture.url, server };
  const inspector = new Inspector({ capture, choices: [choice] });
  onTestFinished(() => inspector.close());
  const opened = await openPage(browser, { capture, feed: inspector.feed, commands: inspector, ...options });
  const { page } = opened;
  await page.getByRole('tab', { name: 'Auth' }).click();
  return {
    ...opened,
    fixture,
    next: (name = /^Next: /) => page.getByRole('button', { name }).click(),
    step: (title) => page.getByRole('listitem', { name: title, exact: true }),
    logIn: async () => {
      const link = page.getByRole('link', { name: 'Open the login page' });
      const tab = page.context().waitForEvent('page');
      await link.click();
      await (await tab).getByText('You are signed in').waitFor();
      await (await tab).close();
    },
  };
}

/** The login pages are opened by a click. */
const LOGIN = /^popup: http:\/\/127\.0\.0\.1:\d+\/(?:authorize|callback)\?/;

async function start(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click();
}

describeInBrowser('Auth', (browser) => {
  test('goes through all steps, one by one, with changed scopes and a step-up', async () => {
    const { page, misdeeds, fixture, next, step, logIn } = await openAuth(browser());
    await page.getByRole('combobox', { name: 'Server' }).selectOption('Notes (mcp.json)');
    await page.getByText('Client, scopes and step-up').click();
    await page.getByRole('textbox', { name: 'Tool that needs more scopes' }).fill('write');
    await start(page);
    for (const id of ['resource-metadata', 'server-metadata', 'pkce', 'registration'] as const)
      await next(`Next: ${STEP_TITLES[id]}`);
    await page.getByRole('textbox', { name: 'Value of scope' }).fill('read more');
    expect(fixture.asked).not.toContain('GET /authorize');
    await next('Next: Authorization request');
    await next('Next: Callback');
    await logIn();
    await next('Next: Token request');
    await next('Next: Request with the token');
    await next('Next: Refresh');
    await next('Next: Step-up');
    await logIn();
    await next('Next: Revocation');
    await page.getByText(/^Finished after 12 steps: \d+ checks, 0 failed, 0 warnings\.$/).waitFor();
    expect(
      await page
        .getByRole('listitem', { name: /./ })
        .filter({ has: page.locator('h3') })
        .count(),
    ).toBe(STEPS.length);
    // What the step-up asks for includes what was asked before.
    expect(await step('Step-up').textContent()).toContain('read more write');
    const request = step('Token request').locator('details').first();
    await request.locator('summary').click();
    const text = await request.textContent();
    expect(text).toContain('code_verifier=••••••••');
    expect(text).not.toContain(fixture.forms[0]!.get('code_verifier'));
    expect(await page.content()).not.toContain(fixture.forms[0]!.get('code')!);
    // Wire has the same requests, marked, not judged, and without secrets in the rows.
    await page.getByRole('tab', { name: 'Wire' }).click();
    const wire = new WirePage(page);
    await wire.filter.fill('layer:head "POST /token"');
    await expect.poll(() => wire.rows().count()).toBeGreaterThan(1);
    expect(await wire.rows().first().locator('.w-conn').textContent()).toMatch(/^\d+ auth$/);
    const http = await wire.open(wire.rows().first(), 'HTTP');
    await http.getByText('POST /token HTTP/1.1').waitFor();
    for (const filter of ['layer:bytes', 'layer:head', 'layer:body', 'layer:message']) {
      await wire.filter.fill(filter);
      await expect.poll(() => wire.rows().count()).toBeGreaterThan(1);
      const rows = (await wire.grid.textContent())!;
      const secrets = fixture.forms.flatMap((form) =>
        ['code', 'code_verifier', 'refresh_token'].map((name) => form.get(name)),
      );
      for (const secret of secrets.filter((each) => each !== null)) expect(rows).not.toContain(secret);
    }
    expect(await page.locator('#screen-tab-lint').textContent()).toBe('Lint');
    expect(misdeeds.filter((each) => !LOGIN.test(each))).toEqual([]);
  });

  test('says where a client stops and why, and goes on if a person says so', async () => {
    const faults: Faults = {
      callback: (right) => new URLSearchParams({ ...Object.fromEntries(right), iss: 'https://other.example' }),
    };
    const { page, misdeeds, fixture, next, step } = await openAuth(browser(), faults);
    await page.getByRole('textbox', { name: 'URL of the server' }).fill(fixture.url);
    await start(page);
    for (let count = 0; count < 6; count += 1) await next();
    const link = page.getByRole('link', { name: 'Open the login page' });
    await link.click();
    await page.getByText('A client must stop here.').waitFor();
    const check = step('Callback')
      .getByRole('listitem')
      .filter({ has: page.locator('code', { hasText: /^callback-issuer$/ }) });
    expect(await check.textContent()).toContain('failed');
    expect(await check.textContent()).toContain('"https://other.example"');
    expect(await check.getByRole('link').getAttribute('href')).toBe(
      'https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation',
    );
    expect(fixture.asked).not.toContain('POST /token');
    await next('Go on anyway: Token request');
    await expect.poll(() => fixture.asked).toContain('POST /token');
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByText(/^Finished after/).waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
    expect(misdeeds.filter((each) => !LOGIN.test(each))).toEqual([]);
  });

  test('shows what a hostile server says as text', async () => {
    const evil = '<img src=x onerror=alert(1)>\u202e\u001b[2J';
    const { page, misdeeds, fixture, next } = await openAuth(browser(), {
      resourceMetadata: (right) => ({ ...right, resource: evil, authorization_servers: [evil] }),
    });
    await page.getByRole('textbox', { name: 'URL of the server' }).fill(fixture.url);
    await start(page);
    await next();
    await page.getByText('A client must stop here.').waitFor();
    expect(await page.locator('.auth img').count()).toBe(0);
    expect(await page.locator('.auth').textContent()).not.toContain('\u202e');
    expect(misdeeds).toEqual([]);
  });

  test('refuses what cannot work, and says why', async () => {
    const { page, fixture } = await openAuth(browser());
    await page.getByRole('textbox', { name: 'URL of the server' }).fill('example.com');
    await start(page);
    await page.getByText('begins with http').waitFor();
    await page.getByRole('textbox', { name: 'URL of the server' }).fill(fixture.url);
    await page.getByText('Client, scopes and step-up').click();
    await page.getByRole('textbox', { name: 'Tool that needs more scopes' }).fill('write');
    await page.getByRole('textbox', { name: 'Its arguments as JSON' }).fill('{');
    await start(page);
    await page.getByText('The arguments of the tool must be JSON.').waitFor();
    expect(fixture.asked).toEqual([]);
  });

  test('has nothing to send while the page only observes', async () => {
    const { page } = await openPage(browser(), { feed: fixedState('observer', 'node server.js') });
    await page.getByRole('tab', { name: 'Auth' }).click();
    await page.getByRole('tabpanel', { name: 'Auth' }).getByText('It is not a client').waitFor();
    expect(await page.getByRole('button', { name: 'Start', exact: true }).count()).toBe(0);
  });
});

const LONG = 'averylongword'.repeat(30);

describeInBrowser('axe finds nothing, dark or light, and nothing is cut off', (browser) => {
  test.each(WINDOWS)('on Auth, at $size', async ({ viewport, zoom }) => {
    const faults: Faults = {
      serverMetadata: (right) => ({ ...right, code_challenge_methods_supported: [LONG], scopes_supported: [LONG] }),
    };
    const options = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
    const { page, fixture, next, step, misdeeds } = await openAuth(browser(), faults, options);
    await page.evaluate(AXE);
    await page.getByText('Client, scopes and step-up').click();
    await expectAccess(page, 'the form');
    await page.getByRole('textbox', { name: 'URL of the server' }).fill(`${fixture.url}?${LONG}`);
    await start(page);
    for (let count = 0; count < 3; count += 1) await next();
    await page.getByText('A client must stop here.').waitFor();
    await step('Authorization server metadata').locator('details').first().locator('summary').click();
    for (const checks of ['passed', 'not applicable'])
      await step('Authorization server metadata').getByText(checks).first().click();
    await expectAccess(page, 'where a client stops');
    await next('Go on anyway: Client registration');
    await page.getByRole('button', { name: 'Next: Authorization request' }).waitFor();
    await expectAccess(page, 'parameters');
    await next();
    await next();
    await page.getByRole('link', { name: 'Open the login page' }).waitFor();
    await expectAccess(page, 'a login');
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByText(/^Finished after/).waitFor();
    await expectAccess(page, 'the end');
    expect(misdeeds).toEqual([]);
  });
});
