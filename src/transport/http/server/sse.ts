/** Server-sent events as text (HTML standard, section 9.2). */
import type { HttpHeaders } from './call.ts';

export const SSE_HEADERS: HttpHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Proxies such as nginx would otherwise buffer the events.
  'x-accel-buffering': 'no',
};

/** A message event. JSON text contains no line breaks, so it is one `data` line. */
export function messageEvent(json: string, id: string | undefined): string {
  return id === undefined ? `event: message\ndata: ${json}\n\n` : `event: message\nid: ${id}\ndata: ${json}\n\n`;
}

/** An event with an id and no data, to resume from (2025-11-25, transports: Sending Messages, 6). */
export function primingEvent(id: string): string {
  return `id: ${id}\ndata: \n\n`;
}

/** Tells the client how long to wait before it reconnects. */
export function retryField(milliseconds: number): string {
  return `retry: ${milliseconds}\n\n`;
}

export const KEEP_ALIVE = ': keep-alive\n\n';
