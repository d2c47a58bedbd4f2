import { Progress } from './progress.mjs';
import { replaceWithLog } from './server-uses.mjs';
import { declarationsIn, memberOf, propertiesOf, usesOf, walk } from './syntax.mjs';

/**
 * Rewrites a handler of a tool, a prompt, a resource or a template.
 *
 * @param kind `args` (arguments, extra), `none` (extra), `resource` (uri, extra) or `template` (uri, variables, extra)
 * @param job collects the edits, and what cannot be rewritten
 * @param owner `resource`, `prompt` or the kind: decides what errors become
 * @returns the name of the parameter after these, on demand: a handler without it gets it. The name is undefined if that is
 * not possible.
 */
export function rewriteHandler(handler, kind, job, owner) {
  const { params } = handler;
  const at = { args: 1, none: 0, resource: 1, template: 2 }[kind];
  if (params.length > at + 1) job.refuse('the handler has more parameters than the SDK passes', 'replacements');
  const extra = params[at];
  const name = extra && rewriteExtra(extra, handler, job);
  if (kind === 'none' && extra) job.insertParameter(handler, '_');
  if (kind === 'resource') {
    rewriteUri(params[0], handler, job);
    const type = params[0]?.typeAnnotation;
    if (type) job.replaceRange(type.start, type.end, '');
  }
  if (kind === 'template') rewriteTemplateParameters(handler, job);
  rewriteThrows(handler, owner, job);
  return once(() => {
    if (extra) return name;
    if (!(kind === 'args' && params.length === 1) && !(kind === 'none' && params.length === 0)) return undefined;
    if (isUsed('ctx', handler)) return undefined;
    return job.appendParameter(handler, kind === 'args' ? 'ctx' : '_, ctx') ? 'ctx' : undefined;
  });
}

function isUsed(name, handler) {
  return declarationsIn(handler).has(name) || usesOf(name, handler, new Map()).length > 0;
}

function once(make) {
  let made;
  return () => (made ??= { value: make() }).value;
}

function rewriteExtra(extra, handler, job) {
  if (extra.type === 'ObjectPattern') return rewritePattern(extra, handler, job);
  if (extra.type !== 'Identifier') return job.refuse('the second parameter is not a plain name', 'replacements');
  const declarations = declarationsIn(handler);
  if (declarations.get(extra.name).length > 1) return job.refuse(`${extra.name} is declared twice`, 'replacements');
  // The type of the context follows from the method.
  const { typeAnnotation: type } = extra;
  if (type) job.replaceRange(type.start, type.end, '');
  const progress = new Progress(handler, job);
  for (const { node, ancestors } of usesOf(extra.name, handler, declarations)) {
    const member = memberOf(node, ancestors);
    const name = member?.property.name;
    if (name === undefined) {
      if (!job.isServerOption(ancestors)) job.mark(node, `${extra.name} is passed on`, 'replacements');
    } else rewriteUse(name, member, ancestors.slice(0, -1), { context: extra.name, progress, job });
  }
  progress.rewriteGuards(usesOf(extra.name, handler, declarations));
  return extra.name;
}

/** `{ signal }` stays. Of other patterns, each name becomes a property of `ctx`. */
function rewritePattern(extra, handler, job) {
  const names = propertiesOf({ ...extra, type: 'ObjectExpression' });
  if (extra.typeAnnotation) job.replaceRange(extra.typeAnnotation.start, extra.typeAnnotation.end, '');
  if (names?.size === 1 && names.get('signal')?.shorthand) return undefined;
  const declarations = declarationsIn(handler);
  const isPlain = ({ value }) => value.type === 'Identifier' && declarations.get(value.name).length === 1;
  if (!names || ![...names.values()].every(isPlain) || isUsed('ctx', handler))
    return job.mark(extra, 'write ctx for this parameter, and ctx.… for its names', 'replacements');
  job.replaceRange(extra.start, extra.typeAnnotation?.start ?? extra.end, 'ctx');
  const progress = new Progress(handler, job);
  const all = [];
  for (const [name, { value }] of names) {
    const uses = usesOf(value.name, handler, declarations);
    all.push(...uses);
    for (const { node, ancestors } of uses) {
      const parent = ancestors.at(-1);
      const wasWritten = rewriteUse(name, node, ancestors, { context: 'ctx', progress, job, bare: true });
      if (!wasWritten) job.replace(node, parent.shorthand ? `${value.name}: ctx.${name}` : `ctx.${name}`);
    }
  }
  progress.rewriteGuards(all);
  return 'ctx';
}

/**
 * Rewrites a use of a property of the second parameter.
 *
 * @param node the property with what it is taken from, or a name of a pattern
 * @returns whether it was rewritten
 */
function rewriteUse(name, node, ancestors, { context, progress, job, bare = false }) {
  const parent = ancestors.at(-1);
  const replace = (property) => {
    if (!bare) job.replace(node.property, property);
    else job.replace(node, `${parent.shorthand ? `${node.name}: ` : ''}${context}.${property}`);
    return true;
  };
  if (name === 'signal') return false;
  if (name === '_meta') return replace("exchange.params['_meta']");
  if (name === 'sendNotification') return rewriteNotification(node, parent, { context, progress, job });
  if (name === 'authInfo' && isKnownAuth(node, ancestors)) return replace('auth');
  if (name === 'requestInfo' && rewriteHeader(node, ancestors, context, job)) return true;
  if (job.isServerOption([...ancestors, node])) return bare;
  job.mark(node, `${bare ? name : job.text(node)} ${adviceFor(name)}`, 'replacements');
  return false;
}

/** Whether only those parts of a credential are used that Everwire has, too. */
function isKnownAuth(node, ancestors) {
  const part = memberOf(node, ancestors);
  return part?.property.name === 'clientId' || part?.property.name === 'scopes';
}

/** What becomes of a property of the second parameter that has another meaning in Everwire. */
function adviceFor(name) {
  const replacement = {
    authInfo: 'ctx.auth, which never has the token',
    requestInfo: 'ctx.header(name)',
    sendRequest: 'ctx.elicit, ctx.sample or ctx.roots',
    sessionId: 'ctx.caller.session?.id, which is not the id on the wire',
  }[name];
  return replacement ? `becomes ${replacement}` : 'has no direct replacement';
}

/** `extra.requestInfo?.headers['name']` becomes `extra.header('name')`. Returns whether it was that. */
function rewriteHeader(node, ancestors, context, job) {
  const headers = memberOf(node, ancestors);
  const value = ancestors.at(-2);
  if (headers?.property.name !== 'headers' || value.object !== headers) return false;
  if (!value.computed || value.property.type !== 'StringLiteral') return false;
  job.replace(value, `${context}.header(${job.text(value.property)})`);
  return true;
}

/** Progress becomes `ctx.progress`, and a log message `ctx.log`. Returns whether it was one of them. */
function rewriteNotification(node, call, { context, progress, job }) {
  const properties = call?.callee === node ? propertiesOf(call.arguments[0]) : undefined;
  const params = propertiesOf(properties?.get('params')?.value);
  const method = properties?.get('method')?.value.value;
  if (method === 'notifications/message' && params?.has('level') && params.has('data')) {
    replaceWithLog(call, context, params, job);
    return true;
  }
  const known = new Set(['progressToken', 'progress', 'total', 'message']);
  if (
    method !== 'notifications/progress' ||
    !params?.has('progress') ||
    [...params.keys()].some((key) => !known.has(key))
  ) {
    job.mark(node, `${job.text(node)} has no direct replacement`, 'progress-logs-and-cancellation');
    return false;
  }
  const values = ['progress', 'total', 'message'].map((key) => params.get(key));
  while (values.at(-1) === undefined) values.pop();
  job.replaceRange(
    call.start,
    call.end,
    (text) => `${context}.progress(${values.map((each) => (each ? text(each.value) : 'undefined')).join(', ')})`,
  );
  progress.calls.add(call);
  return true;
}

const OF_URL = new Set([
  ...['hash', 'host', 'hostname', 'origin', 'password', 'pathname', 'port', 'protocol', 'search', 'searchParams'],
  'username',
]);

/** Everwire passes the URI as a string, and not as a URL. */
function rewriteUri(uri, handler, job) {
  if (!uri) return undefined;
  if (uri.type !== 'Identifier') return job.refuse('the URI is not a plain parameter', 'resources');
  const declarations = declarationsIn(handler);
  if (declarations.get(uri.name).length > 1) return job.refuse(`${uri.name} is declared twice`, 'resources');
  for (const { node, ancestors } of usesOf(uri.name, handler, declarations)) {
    const member = memberOf(node, ancestors);
    const call = ancestors.at(-2);
    const name = member?.property.name;
    const parent = ancestors.at(-1);
    if (name === 'href') rewriteText(member, call, uri.name, job);
    else if (name === 'toString' && call.callee === member) rewriteText(call, ancestors.at(-3), uri.name, job);
    else if (OF_URL.has(name)) job.replace(node, `new URL(${uri.name})`);
    else if (parent.type !== 'TemplateLiteral' && parent.callee?.name !== 'String')
      job.mark(node, `${uri.name} is a string in Everwire, and not a URL`, 'resources');
  }
  return undefined;
}

/** `uri: uri.href` becomes `uri`. */
function rewriteText(node, parent, name, job) {
  const isSame = parent.type === 'ObjectProperty' && !parent.computed && parent.key.name === name;
  job.replace(isSame ? parent : node, name);
}

/** `(uri, variables, extra)` becomes `(variables, extra, uri)`. */
function rewriteTemplateParameters(handler, job) {
  const [uri, variables, extra] = handler.params;
  rewriteUri(uri, handler, job);
  if (!uri) return;
  const used = uri.type === 'Identifier' && usesOf(uri.name, handler, declarationsIn(handler)).length > 0;
  const names = [variables ? job.text(variables) : '_'];
  if (extra || used) names.push(extra ? job.text(extra) : '_ctx');
  if (used) names.push(uri.name);
  job.replaceRange(uri.start, handler.params.at(-1).end, names.join(', '), handler);
}

/** What to write for an error with a code, in each kind of handler. */
const CODED = {
  args: 'write UserError for an error that the model should see, or RpcError for one of the protocol',
  resource: 'return undefined if the resource does not exist, or throw an RpcError',
  prompt: 'write UserError for a wrong argument, or RpcError for another code',
};

/** The SDK shows the message of every error to the caller. Everwire shows those of `UserError` and `RpcError`. */
function rewriteThrows(handler, owner, job) {
  const inTool = owner !== 'resource' && owner !== 'prompt';
  walk(handler, (node) => {
    if (node.type !== 'ThrowStatement') return;
    const { argument } = node;
    const name = argument.type === 'NewExpression' ? argument.callee.name : undefined;
    if (name === 'Error') {
      job.replace(argument.callee, 'UserError');
      job.need('everwire/server', 'UserError');
    } else if (name !== undefined && name === (job.errorNames.McpError ?? 'McpError')) {
      if (!rewriteCoded(argument, inTool, job))
        job.mark(node, `throws McpError: ${CODED[owner] ?? CODED.args}`, 'errors');
    } else job.mark(node, `throws ${name ?? 'a value'}, whose message Everwire does not show to the caller`, 'errors');
  });
}

/**
 * `new McpError(ErrorCode.…, message)` of a tool becomes a `UserError`, because the SDK shows it to the model, without the code.
 * In a prompt or a resource it becomes an `RpcError` with the same code.
 *
 * @returns whether it was rewritten
 */
function rewriteCoded(created, inTool, job) {
  const [code, message, data, ...others] = created.arguments;
  const { McpError, ErrorCode, hasOnlyKnownCodes } = job.errorNames;
  const isCode = code?.type === 'MemberExpression' && !code.computed && code.object.name === ErrorCode;
  if (McpError === undefined || ErrorCode === undefined || !isCode || !message || others.length > 0) return false;
  if ([message, data].some((each) => each?.type === 'SpreadElement')) return false;
  if (inTool) {
    // The SDK throws this one as an error of the protocol.
    if (data || code.property.name === 'UrlElicitationRequired') return false;
    job.replaceRange(created.start, created.end, (text) => `new UserError(${text(message)})`);
    job.need('everwire/server', 'UserError');
    return true;
  }
  if (!hasOnlyKnownCodes) return false;
  job.replace(created.callee, 'RpcError');
  if (data) job.wrap(data, '{ data: ', ' }');
  job.need('everwire/server', 'RpcError');
  job.need('everwire/server', ErrorCode === 'ErrorCode' ? 'ErrorCode' : `ErrorCode as ${ErrorCode}`);
  return true;
}
