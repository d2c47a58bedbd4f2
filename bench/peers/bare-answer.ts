/** The JSON work of a server with one tool, and nothing else. The bare peers do this with each message. */
export function answer(message: any): object | undefined {
  const { id, method, params } = message;
  if (id === undefined) return undefined;
  switch (method) {
    case 'tools/call': {
      const { a, b } = params.arguments;
      if (params.name !== 'add' || typeof a !== 'number' || typeof b !== 'number') break;
      return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(a + b) }] } };
    }
    case 'initialize': {
      const serverInfo = { name: 'bare', version: '1.0.0' };
      const { protocolVersion } = params;
      return { jsonrpc: '2.0', id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } };
    }
    case 'tools/list': {
      const number = { type: 'number' };
      const inputSchema = { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] };
      return { jsonrpc: '2.0', id, result: { tools: [{ name: 'add', inputSchema }] } };
    }
    case 'ping':
      return { jsonrpc: '2.0', id, result: {} };
  }
  return { jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } };
}
