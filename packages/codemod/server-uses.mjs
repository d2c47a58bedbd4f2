import { memberOf, propertiesOf } from './syntax.mjs';

const LISTS = {
  sendToolListChanged: 'tools',
  sendResourceListChanged: 'resources',
  sendPromptListChanged: 'prompts',
};
/** What the server knows about the one client of its session, and a handler about its caller. */
const OF_CALLER = { getClientCapabilities: 'capabilities', getClientVersion: 'clientInfo' };
/** Requests of the server to the client, and the methods of the context that replace them. */
const QUESTIONS = { elicitInput: 'elicit', createMessage: 'sample', listRoots: 'roots' };
/** What to do with handlers of the low level. */
const HANDLERS = {
  SubscribeRequestSchema: 'delete this handler: Everwire keeps subscriptions itself, and resourceUpdated notifies them',
  UnsubscribeRequestSchema: 'delete this handler: Everwire keeps subscriptions itself',
  SetLevelRequestSchema: 'delete this handler: Everwire sends each caller the levels that it asked for',
};
const SECTIONS = {
  getClientCapabilities: 'replacements',
  getClientVersion: 'replacements',
  createMessage: 'sampling-and-roots',
  elicitInput: 'elicitation',
  listRoots: 'sampling-and-roots',
  sendLoggingMessage: 'progress-logs-and-cancellation',
  setRequestHandler: 'the-low-level',
};

/**
 * Rewrites a use of the server that is no registration.
 *
 * @param extra returns the name of the second parameter of the handler around it, if there is one
 */
export function rewriteServerUse(node, ancestors, extra, job) {
  const member = memberOf(node, ancestors);
  if (!member)
    return isPassedOn(node, ancestors) ? undefined : job.mark(node, 'the server is used in another way', 'the-server');
  const name = member.property.name;
  if (name === 'connect' || name === 'close') return undefined;
  if (name in LISTS && isCall(member, ancestors.at(-2))) {
    return job.replace(ancestors.at(-2), `${node.name}.listChanged('${LISTS[name]}')`);
  }
  if (name === 'sendLoggingMessage') return log(member, ancestors.at(-2), extra, job);
  if (name !== 'server') return job.mark(node, `${node.name}.${name} has no direct replacement`, 'replacements');
  const inner = memberOf(member, ancestors.slice(0, -1));
  const call = ancestors.at(-3);
  const method = inner?.property.name;
  if (method === 'sendResourceUpdated' && isCall(inner, call)) {
    const uri = propertiesOf(call.arguments[0])?.get('uri');
    const awaited = ancestors.at(-4);
    if (uri)
      return job.replace(
        awaited.type === 'AwaitExpression' ? awaited : call,
        `${node.name}.resourceUpdated(${job.text(uri.value)})`,
      );
  }
  if (method === 'sendLoggingMessage') return log(inner, call, extra, job);
  if (method === 'setRequestHandler')
    return job.mark(
      node,
      HANDLERS[call.arguments?.[0]?.name] ?? 'answer this method in server.use(…)',
      'the-low-level',
    );
  const context = (method in QUESTIONS || method in OF_CALLER) && isCall(inner, call) ? extra?.() : undefined;
  if (context !== undefined && method in QUESTIONS) {
    if (method === 'listRoots') return roots(call, ancestors, context, job);
    return ask(inner, call, `${context}.${QUESTIONS[method]}`, SECTIONS[method], job);
  }
  if (context !== undefined) return job.replace(call, `${context}.caller.${OF_CALLER[method]}`);
  return job.mark(
    node,
    `${node.name}.server.${method ?? '…'} has no direct replacement`,
    SECTIONS[method] ?? 'the-low-level',
  );
}

function isCall(callee, call) {
  return call?.type === 'CallExpression' && call.callee === callee;
}

/** Whether the server goes to a function or is returned, which stays as it is. */
function isPassedOn(node, ancestors) {
  const parent = ancestors.at(-1);
  if (parent.type === 'ExportSpecifier' || parent.type === 'ReturnStatement') return true;
  return parent.type === 'CallExpression' && parent.arguments.includes(node);
}

/** Refuses a question whose options mean something in Everwire. `relatedRequestId` does not. */
function hasOptions(options, section, job) {
  const keys = options ? [...(propertiesOf(options)?.keys() ?? ['…'])] : [];
  const others = keys.filter((key) => key !== 'relatedRequestId');
  if (others.length > 0) job.mark(options, `the question has options: ${others.join(', ')}`, section);
  return others.length > 0;
}

function ask(member, call, replacement, section, job) {
  const [params, options] = call.arguments;
  if (hasOptions(options, section, job)) return undefined;
  job.replace(member, replacement);
  if (options) job.replaceRange(params.end, options.end, '', call);
  if (member.property.name === 'createMessage')
    job.advise('content of ctx.sample may be a list of blocks: use [content].flat()', section);
  return undefined;
}

/** `const { roots } = await server.server.listRoots()` becomes `const roots = await ctx.roots()`. */
function roots(call, ancestors, extra, job) {
  const section = SECTIONS.listRoots;
  if (hasOptions(call.arguments[1], section, job)) return undefined;
  const [declarator, awaited] = ancestors.slice(-5, -3);
  const pattern =
    awaited?.type === 'AwaitExpression' && declarator?.type === 'VariableDeclarator' ? declarator.id : undefined;
  const names = pattern?.type === 'ObjectPattern' ? propertiesOf({ ...pattern, type: 'ObjectExpression' }) : undefined;
  const name = names?.size === 1 ? names.get('roots')?.value : undefined;
  if (name?.type !== 'Identifier')
    return job.mark(call, `write ${extra}.roots(), which returns the list itself`, section);
  job.replace(pattern, job.text(name));
  return job.replace(call, `${extra}.roots()`);
}

function log(member, call, extra, job) {
  const section = 'progress-logs-and-cancellation';
  const properties = isCall(member, call) ? propertiesOf(call.arguments[0]) : undefined;
  if (!properties?.has('level') || !properties.has('data'))
    return job.mark(member, 'the log message is not written here', section);
  const context = extra?.();
  if (context === undefined) return job.mark(member, 'a log message needs the second parameter of a handler', section);
  return replaceWithLog(call, context, properties, job);
}

/** Replaces a call that logs with `ctx.log(level, data, logger)`. */
export function replaceWithLog(call, context, properties, job) {
  const values = ['level', 'data', 'logger'].map((key) => properties.get(key)).filter(Boolean);
  return job.replaceRange(
    call.start,
    call.end,
    (text) => `${context}.log(${values.map(({ value }) => text(value)).join(', ')})`,
  );
}
