import { peerUrl } from '../base/peer-url.ts';
import { printable } from '../base/printable.ts';
import { VERSION } from '../version.ts';
import type { HttpHead } from './http-head.ts';
import type { Masks } from './masks.ts';
import { originOf, type RecordedExchange } from './recorded-wire.ts';

/** The last time of a date, in milliseconds since 1970 (ECMAScript, section "Time Values and Time Range"). */
const MAX_DATE = 8.64e15;

/** The HTTP exchanges as HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). */
export function harLog(exchanges: readonly RecordedExchange[], started: string, masks: Masks): string {
  const begin = Date.parse(started);
  const entries = exchanges.map(({ request, response, body, responseBody, sent, began = sent, ended = began }) => {
    const [method, target, httpVersion] = request.first;
    const url = masks.target(/^https?:/.test(target) ? target : `${originOf(request)}${target}`);
    const query = [...(peerUrl(url)?.searchParams ?? [])];
    const [, status, statusText] = response?.first ?? ['', '0', ''];
    const text = responseBody === '' ? '' : masks.message(responseBody);
    return {
      startedDateTime: new Date(Math.min(begin + sent / 1000, MAX_DATE)).toISOString(),
      time: (ended - sent) / 1000,
      request: {
        ...{ method, url, httpVersion },
        cookies: [],
        headers: headersOf(request, masks),
        queryString: query.map(([name, value]) => ({ name, value })),
        ...(body !== '' && {
          postData: { mimeType: request.header('content-type') ?? '', text: masks.message(body) },
        }),
        headersSize: -1,
        bodySize: sizeOf(body),
      },
      response: {
        status: Number(status) || 0,
        statusText: masks.text(statusText),
        httpVersion: response?.first[0] ?? '',
        cookies: [],
        headers: response ? headersOf(response, masks) : [],
        content: {
          size: sizeOf(text),
          mimeType: response?.header('content-type') ?? 'application/octet-stream',
          text,
        },
        redirectURL: masks.target(response?.header('location') ?? ''),
        headersSize: -1,
        bodySize: -1,
      },
      cache: {},
      timings: { send: 0, wait: (began - sent) / 1000, receive: (ended - began) / 1000 },
    };
  });
  const log = { version: '1.2', creator: { name: 'everwire', version: VERSION }, pages: [], entries };
  return printable(`${JSON.stringify({ log }, undefined, 2)}\n`);
}

/** The size of a text in UTF-8. */
function sizeOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function headersOf({ headers }: HttpHead, masks: Masks): { name: string; value: string }[] {
  return headers.map(([name, value]) => ({ name, value: masks.header(name, value) }));
}
