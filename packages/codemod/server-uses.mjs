import { memberOf, propertiesOf } from './syntax.mjs';

const LISTS = {
  sendToolListChanged: 'tools',
  sendResourceListChanged: 'resources',
  sendPromptListChanged: 'prompts',
};
/** What the server knows about the one client of its session, and a handler about its caller. */
const OF_CALLER = { getClientCapabilities: 'capabilities', getClientVersion: 'clientInfo' };
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
    return isPassedOn(node, ancestors) ? undefined : job.refuse('the server is used in another way', 'the-server');
  const name = member.property.name;
  if (name === 'connect' || name === 'close') return undefined;
  if (name in LISTS && isCall(member, ancestors.at(-2))) {
    return job.replace(ancestors.at(-2), `${node.name}.listChanged('${LISTS[name]}')`);
  }
  if (name === 'sendLoggingMessage') return log(member, ancestors.at(-2), extra, job);
  if (name !== 'server') return job.refuse(`${node.name}.${name} has no direct replacement`, 'replacements');
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
  const context = (method === 'elicitInput' || method in OF_CALLER) && isCall(inner, call) ? extra?.() : undefined;
  if (context !== undefined && method === 'elicitInput') return elicit(inner, call, context, job);
  if (context !== undefined) return job.replace(call, `${context}.caller.${OF_CALLER[method]}`);
  return job.refuse(
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

function elicit(member, call, extra, job) {
  const [params, options] = call.arguments;
  const keys = options ? [...(propertiesOf(options)?.keys() ?? ['…'])] : [];
  const others = keys.filter((key) => key !== 'relatedRequestId');
  if (others.length > 0) return job.refuse(`the question has options: ${others.join(', ')}`, 'elicitation');
  job.replace(member, `${extra}.elicit`);
  if (options) job.replaceRange(params.end, options.end, '', call);
  return undefined;
}

function log(member, call, extra, job) {
  const section = 'progress-logs-and-cancellation';
  const properties = isCall(member, call) ? propertiesOf(call.arguments[0]) : undefined;
  if (!properties?.has('level') || !properties.has('data'))
    return job.refuse('the log message is not written here', section);
  const context = extra?.();
  if (context === undefined) return job.refuse('a log message needs the second parameter of a handler', section);
  const values = ['level', 'data', 'logger'].map((key) => properties.get(key)).filter(Boolean);
  return job.replace(call, `${context}.log(${values.map(({ value }) => job.text(value)).join(', ')})`);
}
