import { post, type HttpCalls } from './http-calls.ts';

const REVISION = '2026-07-28';
const META = `{"io.modelcontextprotocol/protocolVersion":"${REVISION}","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`;

/** The bytes of one request of 2026-07-28, with its headers. */
export function modernRequest(url: URL, id: number | string, method: string, params: string, name?: string): string {
  const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":{${params}"_meta":${META}}}`;
  const named = name === undefined ? '' : `mcp-name: ${name}\r\n`;
  return post(url, `mcp-protocol-version: ${REVISION}\r\nmcp-method: ${method}\r\n${named}`, body);
}

/** Calls of `add`, each an independent request. */
export class ModernCalls implements HttpCalls {
  readonly url: URL;
  // Seven digits, so that all requests have the same length.
  #lastId = 1_000_000;

  constructor(url: URL) {
    this.url = url;
  }

  call(): { request: string; expected: string } {
    const id = ++this.#lastId;
    const params = `"name":"add","arguments":{"a":${id},"b":1},`;
    return { request: modernRequest(this.url, id, 'tools/call', params, 'add'), expected: `"${id + 1}"` };
  }
}

/** Requests for the list of tools. */
export class ModernLists implements HttpCalls {
  readonly url: URL;
  #lastId = 1_000_000;

  constructor(url: URL) {
    this.url = url;
  }

  call(): { request: string; expected: string } {
    return { request: modernRequest(this.url, ++this.#lastId, 'tools/list', ''), expected: '"name":"add"' };
  }
}
