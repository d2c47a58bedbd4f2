import { declarationsIn, memberOf, propertiesOf, usesOf, walk } from './syntax.mjs';

/**
 * Rewrites a handler of a tool, a prompt, a resource or a template.
 *
 * @param kind `args` (arguments, extra), `none` (extra), `resource` (uri, extra) or `template` (uri, variables, extra)
 * @param job collects the edits, and the reasons why the handler cannot be rewritten
 * @returns the name of the parameter after these, on demand: a handler without it gets it. The name is undefined if that is
 * not possible.
 */
export function rewriteHandler(handler, kind, job) {
  const { params } = handler;
  const at = { args: 1, none: 0, resource: 1, template: 2 }[kind];
  if (params.length > at + 1) job.refuse('the handler has more parameters than the SDK passes', 'replacements');
  const extra = params[at];
  const name = extra && rewriteExtra(extra, handler, job);
  if (kind === 'none' && extra) job.insertParameter(handler, '_');
  if (kind === 'resource') rewriteUri(params[0], handler, job);
  if (kind === 'template') rewriteTemplateParameters(handler, job);
  rewriteThrows(handler, job);
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
  if (extra.typeAnnotation) return job.refuse('the second parameter has a type of the SDK', 'replacements');
  if (extra.type === 'ObjectPattern') return rewritePattern(extra, handler, job);
  if (extra.type !== 'Identifier') return job.refuse('the second parameter is not a plain name', 'replacements');
  const declarations = declarationsIn(handler);
  if (declarations.get(extra.name).length > 1) return job.refuse(`${extra.name} is declared twice`, 'replacements');
  for (const { node, ancestors } of usesOf(extra.name, handler, declarations)) {
    const member = memberOf(node, ancestors);
    const name = member?.property.name;
    if (name === 'signal') continue;
    if (name === '_meta') job.replace(member.property, "exchange.params['_meta']");
    else if (name === 'sendNotification') rewriteNotification(member, ancestors.at(-2), extra.name, job);
    else if (name === 'authInfo' && isKnownAuth(member, ancestors.slice(0, -1))) job.replace(member.property, 'auth');
    else if (name === 'requestInfo' && rewriteHeader(member, ancestors, extra.name, job)) continue;
    else if (!job.isServerOption(ancestors))
      job.refuse(name ? `${extra.name}.${name} ${adviceFor(name)}` : `${extra.name} is passed on`, 'replacements');
  }
  return extra.name;
}

/** `{ signal }` stays. Other names may be used only where Everwire needs none of them. */
function rewritePattern(extra, handler, job) {
  const names = propertiesOf({ ...extra, type: 'ObjectExpression' });
  if (names?.size === 1 && names.has('signal')) return undefined;
  const declarations = declarationsIn(handler);
  const signals = [];
  const auths = [];
  for (const [name, property] of names ?? [['…', {}]]) {
    const uses = property.shorthand ? usesOf(name, handler, declarations) : [];
    const plain = property.shorthand && declarations.get(name)?.length === 1;
    if (plain && name === 'signal') signals.push(...uses);
    else if (plain && name === 'authInfo' && uses.every(({ node, ancestors }) => isKnownAuth(node, ancestors)))
      auths.push(...uses);
    else if (!plain || uses.some(({ node, ancestors }) => !job.isServerOption([...ancestors, node])))
      job.refuse(`${name} of the second parameter ${adviceFor(name)}`, 'replacements');
  }
  if (isUsed('ctx', handler)) return job.refuse('the second parameter is not a plain name', 'replacements');
  job.replace(extra, 'ctx');
  for (const { node, ancestors } of signals)
    job.replace(node, ancestors.at(-1).shorthand ? 'signal: ctx.signal' : 'ctx.signal');
  for (const { node } of auths) job.replace(node, 'ctx.auth');
  return 'ctx';
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
function rewriteHeader(member, ancestors, extra, job) {
  const headers = memberOf(member, ancestors.slice(0, -1));
  const value = ancestors.at(-3);
  if (headers?.property.name !== 'headers' || value.object !== headers) return false;
  if (!value.computed || value.property.type !== 'StringLiteral') return false;
  job.replace(value, `${extra}.header(${job.text(value.property)})`);
  return true;
}

/** `extra.sendNotification` with progress becomes `extra.progress`. */
function rewriteNotification(member, call, extra, job) {
  const properties = call?.callee === member ? propertiesOf(call.arguments[0]) : undefined;
  const params = propertiesOf(properties?.get('params')?.value);
  const known = new Set(['progressToken', 'progress', 'total', 'message']);
  const method = properties?.get('method')?.value.value;
  if (
    method !== 'notifications/progress' ||
    !params?.has('progress') ||
    [...params.keys()].some((key) => !known.has(key))
  )
    return job.refuse(`${extra}.sendNotification has no direct replacement`, 'progress-logs-and-cancellation');
  const values = ['progress', 'total', 'message']
    .map((key) => params.get(key))
    .map((each) => each && job.text(each.value));
  while (values.at(-1) === undefined) values.pop();
  return job.replace(call, `${extra}.progress(${values.map((each) => each ?? 'undefined').join(', ')})`);
}

/** Everwire passes the URI as a string, and not as a URL. */
function rewriteUri(uri, handler, job) {
  if (!uri) return undefined;
  if (uri.type !== 'Identifier' || uri.typeAnnotation)
    return job.refuse('the URI is not a plain parameter', 'resources');
  const declarations = declarationsIn(handler);
  if (declarations.get(uri.name).length > 1) return job.refuse(`${uri.name} is declared twice`, 'resources');
  for (const { node, ancestors } of usesOf(uri.name, handler, declarations)) {
    const member = memberOf(node, ancestors);
    const call = ancestors.at(-2);
    if (member?.property.name === 'href') job.replace(member, uri.name);
    else if (member?.property.name === 'toString' && call.callee === member) job.replace(call, uri.name);
    else return job.refuse(`${uri.name} is a string in Everwire, and not a URL`, 'resources');
  }
  return undefined;
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

/** The SDK shows the message of every error to the model. Everwire shows those of `UserError`. */
function rewriteThrows(handler, job) {
  walk(handler, (node) => {
    if (node.type !== 'ThrowStatement') return;
    const { argument } = node;
    const name = argument.type === 'NewExpression' ? argument.callee.name : undefined;
    if (name === 'Error') {
      job.replace(argument.callee, 'UserError');
      job.need('everwire/server', 'UserError');
    } else job.refuse(`throws ${name ?? 'a value'}, whose message Everwire does not show to the model`, 'errors');
  });
}
