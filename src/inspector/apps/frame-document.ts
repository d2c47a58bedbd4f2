import { createHash } from 'node:crypto';
import { MAX_APP_MESSAGE } from '../../inspect/page-server/apps-api.ts';
import { SANDBOX } from './policy.ts';

const STYLE = 'html,body,iframe{display:block;width:100%;height:100%;margin:0;border:0}';

/**
 * The document around an app (MCP Apps 2026-01-26, Sandbox proxy). It has the origin of the app, and passes messages on
 * between the app and the page. Its own policy keeps the app from navigating away.
 *
 * @param page the origin of the page.
 * @param report the path that browsers send their reports to.
 */
export function frameDocument(page: string, app: string, report: string): { html: string; policy: string } {
  const script = scriptFor(page);
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>App</title><style>${STYLE}</style></head>
<body><iframe title="App" sandbox="${SANDBOX}"></iframe><script>${script}</script></body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(STYLE)}`,
    `frame-src ${app}`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${page}`,
    `sandbox ${SANDBOX}`,
    `report-uri ${report}`,
  ].join('; ');
  return { html, policy };
}

/**
 * Passes on messages: of the page to the app as they are, and of the app to the page as JSON text, through a port that the
 * page gets before the app is loaded. The page would have to build every value in a message before it could count them,
 * which takes seconds for a map of millions. Null stands for a message that is too large.
 *
 * The app can replace everything that is global in this document, and the getters of events. So between the value and
 * the port there are only syntax and functions that were taken before. The port is in no variable that the app can read, and
 * has no listener: the getters of an event would get the port as its target. It is given nothing but a text or null, which
 * have no parts that could be replaced.
 */
function scriptFor(page: string): string {
  return `'use strict';
{
  const host = parent;
  const page = ${JSON.stringify(page)};
  const frame = document.querySelector('iframe');
  const view = frame.contentWindow;
  const { stringify } = JSON;
  const { port1, port2 } = new MessageChannel();
  const send = port1.postMessage.bind(port1);
  addEventListener('message', ({ data, origin, source }) => {
    if (source === host && origin === page) view.postMessage(data, location.origin);
    if (source !== view || origin !== location.origin) return;
    let text = '';
    try {
      text = stringify(data) ?? '';
    } catch {}
    send(text.length > ${MAX_APP_MESSAGE} ? null : text);
  });
  host.postMessage(null, page, [port2]);
  frame.src = 'view';
}
`;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
