import {
  compose,
  createInbound,
  derive,
  ErrorCode,
  isRequest,
  isRpcError,
  McpErrorCode,
  NotAsked,
  RpcError,
  serve,
  type Caller,
  type Exchange,
  type Inbound,
  type JsonObject,
  type Message,
  type Middleware,
  type Revision,
  type Service,
  type Tool,
  type Transport,
} from 'everwire';

const echo: Service = async (exchange: Exchange): Promise<JsonObject> => {
  const caller: Caller = exchange.caller;
  const revision: Revision = caller.revision;
  if (exchange.signal.aborted) throw new RpcError(ErrorCode.InternalError, revision);
  await exchange.notify('notifications/message', { level: 'info', data: caller.clientInfo?.name });
  const tools: Tool[] = [{ name: 'echo', inputSchema: { type: 'object' } }];
  return { tools };
};

const upperCase: Middleware = (next) => (exchange) =>
  next(derive(exchange, { params: { ...exchange.params, name: String(exchange.params['name']).toUpperCase() } }));

export async function open(transport: Transport, stateKey: string | undefined): Promise<Inbound> {
  const inbound = createInbound(compose(echo, upperCase), { stateKey, eras: undefined, safeToRerun: 'by-annotations' });
  await inbound.connect(transport);
  await serve(echo, transport, { onerror: (error) => void error.message });
  return inbound;
}

export function describe(message: Message, error: unknown): string {
  if (error instanceof NotAsked) return error.message;
  if (isRpcError(error) && error instanceof RpcError) return String(error.code === McpErrorCode.HeaderMismatch);
  return isRequest(message) ? message.method : 'other';
}
