import { common, State, type CallOptions, type OfficialClient } from '../interop/clients.ts';
import { onLine } from '../support/lines.ts';
import { startProgram } from '../support/process.ts';

type JsonObject = Record<string, any>;

/** Where a client connects to, and how. */
export interface Place {
  readonly transport: 'stdio' | 'http' | 'sse';
  readonly era: 'legacy' | 'modern';
  /** For clients that can be told which one of the era they use. */
  readonly revision: string;
  /** Over HTTP. */
  readonly url?: string;
  /** Over stdio: the program and its arguments. */
  readonly command?: readonly string[];
}

/** The questions of a server that a test answers. */
const QUESTIONS = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
} as const;

/**
 * A client in another language, as a process that this test drives with JSON-RPC over its stdin and stdout:
 *
 * - Requests to it are `connect`, `close`, `alive`, `setLevel`, `subscribe`, `unsubscribe`, `followLists`,
 *   `unfollowLists`, `rootsChanged`, `request` for any method, and the requests of the protocol under their own names.
 * - Notifications to it: `cancel` with the id of a request.
 * - Requests from it are the questions of the server.
 * - Notifications from it: `progress` with the id of the request, `notice` for a notification of the server, `fault`.
 */
export async function connectDriver(program: readonly string[], place: Place): Promise<OfficialClient> {
  const [command = '', ...args] = program;
  const running = startProgram(command, args);
  const state = new State();
  const waiting = new Map<number, { resolve: (result: JsonObject) => void; reject: (error: Error) => void }>();
  const reports = new Map<number, CallOptions['onprogress']>();
  let ids = 0;

  const send = (message: JsonObject): void => {
    running.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  const request = async (method: string, params: JsonObject = {}, options: CallOptions = {}): Promise<JsonObject> => {
    const id = ++ids;
    const { signal, onprogress } = options;
    const cancel = (): void => send({ method: 'cancel', params: { id } });
    try {
      return await new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        if (onprogress) reports.set(id, onprogress);
        send({ id, method, params });
        signal?.addEventListener('abort', cancel);
      });
    } finally {
      signal?.removeEventListener('abort', cancel);
      waiting.delete(id);
      reports.delete(id);
    }
  };
  const notified = (method: string, params: JsonObject): void => {
    if (method === 'progress') reports.get(params['id'])?.(params as { progress: number });
    else if (method === 'fault') state.errors.push(new Error(params['message']));
    else void state.onnotification(params as { method: string });
  };

  onLine(running.child.stdout!, (line) => {
    const { id, method, params, result, error } = JSON.parse(line) as JsonObject;
    if (method === undefined) {
      if (error)
        waiting.get(id)?.reject(Object.assign(new Error(error.message), { code: error.code, data: error.data }));
      else waiting.get(id)?.resolve(result);
    } else if (id === undefined) notified(method, params);
    else {
      const kind = QUESTIONS[method as keyof typeof QUESTIONS];
      send({ id, result: state.question(kind, method, kind === 'roots' ? undefined : params) });
    }
  });
  void running.exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`The client has ended:\n${running.stderr.join('\n')}`));
  });

  let connected: JsonObject;
  try {
    connected = await request('connect', { ...place });
  } catch (error) {
    await running.stop(0);
    throw Object.assign(error as Error, { message: `${(error as Error).message}\n${running.stderr.join('\n')}` });
  }

  const close = async (): Promise<void> => {
    try {
      if (waiting.size === 0) await request('close');
    } finally {
      running.child.stdin!.end();
      await running.stop();
    }
  };
  const done = async (answer: Promise<JsonObject>): Promise<void> => void (await answer);
  const toggle = async (on: string, off: string, params?: JsonObject): Promise<() => Promise<void>> => {
    await request(on, params);
    return () => done(request(off, params));
  };

  return {
    ...common(state),
    revision: connected['revision'],
    missingResource: connected['revision'] >= '2026-07-28' ? -32602 : -32002,
    losesLateProgress: false,
    methods: {
      listTools: () => request('tools/list'),
      listResources: () => request('resources/list'),
      listResourceTemplates: () => request('resources/templates/list'),
      listPrompts: () => request('prompts/list'),
      readResource: (params) => request('resources/read', params),
      getPrompt: (params) => request('prompts/get', params),
      complete: (params) => request('completion/complete', params),
      setLoggingLevel: (level) => request('setLevel', { level }),
      subscribeResource: (params) => request('subscribe', params),
      unsubscribeResource: (params) => request('unsubscribe', params),
      ping: () => request('alive'),
      sendRootsListChanged: () => done(request('rootsChanged')),
      getServerCapabilities: () => connected['capabilities'],
      getServerVersion: () => connected['serverInfo'],
      getInstructions: () => connected['instructions'],
      close,
    },
    alive: () => done(request('alive')),
    setLevel: (level) => done(request('setLevel', { level })),
    subscribe: (uri) => toggle('subscribe', 'unsubscribe', { uri }),
    followLists: () => toggle('followLists', 'unfollowLists'),
    rootsChanged: () => done(request('rootsChanged')),
    callTool: (params, options) => request('tools/call', params, options),
    request: (method, params) => request('request', { method, params }),
    close,
  };
}
