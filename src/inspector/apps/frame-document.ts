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
 * Passes on messages by their source and origin. What begins with `ui/notifications/sandbox-` belongs to this document.
 * Messages of the app become JSON text here, in the process of the app: the page would have to build every value in a
 * message before it could count them, which takes seconds for a map of millions. Null stands for a message that is too
 * large. The app can change what is global in this document, so `stringify` is taken before the app is loaded.
 */
function scriptFor(page: string): string {
  return `'use strict';
const page = ${JSON.stringify(page)};
const frame = document.querySelector('iframe');
const { stringify } = JSON;
const textOf = (data) => {
  try {
    const text = stringify(data) ?? '';
    return text.length > ${MAX_APP_MESSAGE} ? null : text;
  } catch {
    return '';
  }
};
addEventListener('message', ({ data, origin, source }) => {
  if (String(data?.method).startsWith('ui/notifications/sandbox-')) return;
  if (source === parent && origin === page) frame.contentWindow.postMessage(data, location.origin);
  else if (source === frame.contentWindow && origin === location.origin) parent.postMessage(textOf(data), page);
});
frame.src = 'view';
parent.postMessage(textOf({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }), page);
`;
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
