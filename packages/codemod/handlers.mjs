import { declarationsIn, memberOf, propertiesOf, usesOf, walk } from './syntax.mjs';

/**
 * Rewrites a handler of a tool, a prompt, a resource or a template.
 *
 * @param kind `args` (arguments, extra), `none` (extra), `resource` (uri, extra) or `template` (uri, variables, extra)
 * @param job collects the edits, and the reasons why the handler cannot be rewritten
 */
export function rewriteHandler(handler, kind, job) {
  const { params } = handler;
  const at = { args: 1, none: 0, resource: 1, template: 2 }[kind];
  if (params.length > at + 1) job.refuse('the handler has more parameters than the SDK passes', 'replacements');
  const extra = params[at];
  if (extra) rewriteExtra(extra, handler, job);
  if (kind === 'none' && extra) job.insertParameter(handler, '_');
  if (kind === 'resource') rewriteUri(params[0], handler, job);
  if (kind === 'template') rewriteTemplateParameters(handler, job);
  rewriteThrows(handler, job);
  return extra?.type === 'Identifier' ? extra.name : undefined;
}

function rewriteExtra(extra, handler, job) {
  if (extra.typeAnnotation) return job.refuse('the second parameter has a type of the SDK', 'replacements');
  if (extra.type === 'ObjectPattern') {
    const names = propertiesOf({ ...extra, type: 'ObjectExpression' });
    for (const name of names?.keys() ?? ['…'])
      if (name !== 'signal') job.refuse(`${name} of the second parameter has no direct replacement`, 'replacements');
    return undefined;
  }
  if (extra.type !== 'Identifier') return job.refuse('the second parameter is not a plain name', 'replacements');
  const declarations = declarationsIn(handler);
  if (declarations.get(extra.name).length > 1) return job.refuse(`${extra.name} is declared twice`, 'replacements');
  for (const { node, ancestors } of usesOf(extra.name, handler, declarations)) {
    const member = memberOf(node, ancestors);
    const name = member?.property.name;
    if (name === 'signal') continue;
    if (name === '_meta') job.replace(member.property, "exchange.params['_meta']");
    else if (name === 'sendNotification') rewriteNotification(member, ancestors.at(-2), extra.name, job);
    else if (!job.isServerOption(ancestors))
      job.refuse(
        name ? `${extra.name}.${name} has no direct replacement` : `${extra.name} is passed on`,
        'replacements',
      );
  }
  return undefined;
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
