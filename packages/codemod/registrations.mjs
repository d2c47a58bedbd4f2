import { rewriteHandler } from './handlers.mjs';
import { isFunction, propertiesOf } from './syntax.mjs';

const ANNOTATIONS = new Set(['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']);

/** Rewrites a registration. Returns the name of the handler's second parameter, if it has one. */
export function rewriteRegistration(method, call, job) {
  const rewrite = {
    registerTool,
    tool: deprecatedTool,
    registerResource: resource,
    resource: deprecatedResource,
    registerPrompt: prompt,
    prompt: deprecatedPrompt,
  }[method];
  if (call.arguments.some(({ type }) => type === 'SpreadElement'))
    return job.refuse('the arguments are spread', 'replacements');
  return rewrite(call, job);
}

/** @param owner `prompt` for the errors of a prompt; by default as the kind */
function handlerOf(call, kind, job, owner = kind) {
  const handler = call.arguments.at(-1);
  if (!isFunction(handler)) {
    const parameters = {
      args: '(args, ctx)',
      none: '(_, ctx)',
      resource: '(uri, ctx)',
      template: '(variables, ctx, uri)',
    };
    return job.mark(handler, `the handler is not written here; it now gets ${parameters[kind]}`, 'replacements');
  }
  return rewriteHandler(handler, kind, job, owner);
}

/** A raw shape in `z.object`, and a schema as it is. */
function schemaOf(value, job) {
  const text = job.text(value);
  const wrapped = `${job.zod}.object(${text})`;
  const written = value.type === 'Identifier' ? job.constant(value.name) : value;
  if (written?.type === 'ObjectExpression') {
    if (job.zod) return wrapped;
    job.mark(value, 'the schema is a raw shape, and `z` is not imported from zod 4', 'what-stays');
  } else if (!job.zod || !written || !job.text(written).startsWith(`${job.zod}.object(`))
    job.mark(value, 'the schema is not written here; if it is a raw shape, wrap it in z.object', 'what-stays');
  return text;
}

function registerTool(call, job) {
  const [, config] = call.arguments;
  const properties = propertiesOf(config);
  if (call.arguments.length !== 3 || !properties) return job.refuse('the config is not an object literal', 'tools');
  for (const [key, to] of [
    ['inputSchema', 'input'],
    ['outputSchema', 'output'],
  ]) {
    const property = properties.get(key);
    if (!property) continue;
    job.replace(property, `${to}: ${schemaOf(property.value, job)}`);
  }
  job.replace(call.callee.property, 'tool');
  return handlerOf(call, properties.has('inputSchema') ? 'args' : 'none', job);
}

/** `tool(name, description?, shape or annotations?, annotations?, handler)` */
function deprecatedTool(call, job) {
  const [name, ...middle] = call.arguments.slice(0, -1);
  const parts = [];
  const isText = ({ type }) => type === 'StringLiteral' || type === 'TemplateLiteral';
  if (middle[0] && isText(middle[0])) parts.push(`description: ${job.text(middle.shift())}`);
  let kind = 'none';
  for (const each of middle) {
    const properties = propertiesOf(each.type === 'Identifier' ? job.constant(each.name) : each);
    if (!properties) return job.refuse('the schema or the annotations are not written here', 'the-deprecated-methods');
    const annotations = properties.size > 0 && [...properties.keys()].every((key) => ANNOTATIONS.has(key));
    const literal = [...properties.values()].every(({ value }) => /^(Boolean|String)Literal$/.test(value.type));
    if (annotations && literal) parts.push(`annotations: ${job.text(each)}`);
    else if (each === middle[0] && job.zod) {
      parts.push(`input: ${job.zod}.object(${job.text(each)})`);
      kind = 'args';
    } else return job.refuse('the schema is a raw shape, and `z` is not imported from zod 4', 'the-deprecated-methods');
  }
  const handler = call.arguments.at(-1);
  job.replaceRange(name.end, handler.start, `, ${job.object(parts, handler)}, `, call);
  return handlerOf(call, kind, job);
}

/** The text of the properties of an object literal. */
function inner(node, job) {
  return job.text(node).slice(1, -1).trim().replace(/,$/, '');
}

function resource(call, job) {
  const [name, uri, config] = call.arguments;
  if (call.arguments.length !== 4 || !propertiesOf(config))
    return job.refuse('the config is not an object literal', 'resources');
  return rewriteResource(call, { name, uri, config }, job);
}

function deprecatedResource(call, job) {
  const [name, uri, config] = call.arguments;
  if (call.arguments.length === 3) return rewriteResource(call, { name, uri }, job);
  if (!propertiesOf(config)) return job.refuse('the metadata is not an object literal', 'the-deprecated-methods');
  return rewriteResource(call, { name, uri, config }, job);
}

function rewriteResource(call, { name, uri, config }, job) {
  const settings = [`name: ${job.text(name)}`];
  if (config && config.properties.length > 0) settings.push(inner(config, job));
  const end = (config ?? uri).end;
  const isTemplate = uri.type === 'NewExpression' && uri.callee.name === job.templateName;
  if (isTemplate) {
    const options = propertiesOf(uri.arguments[1]);
    if (!options || uri.arguments[0].type !== 'StringLiteral')
      return job.refuse('the template is not written as literals', 'resources');
    const list = options.get('list')?.value;
    if (list && !(list.type === 'Identifier' && list.name === 'undefined')) {
      if (!isFunction(list) || list.params.length > 0)
        return job.refuse('list is not a function without parameters', 'resources');
      settings.push(listOf(list, job));
    }
    const complete = options.get('complete');
    if (complete) settings.push(job.text(complete));
  } else if (uri.type !== 'StringLiteral') return job.refuse('the URI is not a string literal', 'resources');
  job.replace(call.callee.property, isTemplate ? 'resourceTemplate' : 'resource');
  const first = isTemplate ? uri.arguments[0] : uri;
  job.replaceRange(name.start, end, `${job.text(first)}, ${job.object(settings, name)}`, call);
  return handlerOf(call, isTemplate ? 'template' : 'resource', job, 'resource');
}

/** `list` returns the array itself, and not an object around it. */
function listOf(list, job) {
  const returned = propertiesOf(list.body);
  const resources = returned?.size === 1 ? returned.get('resources') : undefined;
  if (!resources || resources.shorthand) return `list: async () => (await (${job.text(list)})()).resources`;
  return `list: ${list.async ? 'async ' : ''}() => ${job.text(resources.value)}`;
}

function prompt(call, job) {
  const [, config] = call.arguments;
  const properties = propertiesOf(config);
  if (call.arguments.length !== 3 || !properties)
    return job.refuse('the config is not an object literal', 'prompts-and-completion');
  const shape = properties.get('argsSchema');
  if (shape) {
    const text = argumentsOf(shape.value, job);
    if (text !== undefined) job.replace(shape, `arguments: ${text}`);
  }
  job.replace(call.callee.property, 'prompt');
  return handlerOf(call, shape ? 'args' : 'none', job, 'prompt');
}

function deprecatedPrompt(call, job) {
  const [name, ...middle] = call.arguments.slice(0, -1);
  const parts = [];
  if (middle[0]?.type === 'StringLiteral') parts.push(`description: ${job.text(middle.shift())}`);
  if (middle[0]) {
    const text = argumentsOf(middle[0], job);
    if (text === undefined) return undefined;
    parts.push(`arguments: ${text}`);
  }
  job.replaceRange(name.end, call.arguments.at(-1).start, `, ${job.object(parts, name)}, `, call);
  return handlerOf(call, middle[0] ? 'args' : 'none', job, 'prompt');
}

/** The arguments of a prompt. Schemas become strings, and those that check more are marked. */
function argumentsOf(shape, job) {
  const properties = propertiesOf(shape.type === 'Identifier' ? job.constant(shape.name) : shape);
  if (!properties || !job.zod) return job.refuse('the arguments are not written here', 'prompts-and-completion');
  const texts = [];
  for (const [name, { key, value }] of properties) {
    const settings = settingsOf(value, job);
    if (!settings) return job.refuse(`the schema of ${name} is not written here`, 'prompts-and-completion');
    const { required = true, description, complete, checks } = settings;
    if (checks)
      job.mark(
        shape,
        `${name} is now any string; its schema was ${job.text(checks).replaceAll(/\s+/g, ' ')}: check it in the handler`,
        'prompts-and-completion',
      );
    const parts = [];
    if (required) parts.push('required: true');
    if (description) parts.push(`description: ${description}`);
    if (complete) parts.push(`complete: ${complete}`);
    texts.push(`${job.text(key)}: ${parts.length > 0 ? `{ ${parts.join(', ')} }` : '{}'}`);
  }
  return `{ ${texts.join(', ')} }`;
}

/** What a chain such as `z.string().describe('…').optional()` says. `checks` is the part that a string does not express. */
function settingsOf(node, job) {
  if (node.type !== 'CallExpression') return undefined;
  const { callee, arguments: given } = node;
  if (callee.type === 'Identifier' && callee.name === job.completableName) {
    const settings = given.length === 2 ? settingsOf(given[0], job) : undefined;
    return settings && { ...settings, complete: job.text(given[1]) };
  }
  if (callee.type !== 'MemberExpression' || callee.computed) return undefined;
  const name = callee.property.name;
  const isZod = ({ type, name: local, object, computed }) =>
    type === 'Identifier' ? local === job.zod : type === 'MemberExpression' && !computed && isZod(object);
  if (isZod(callee.object))
    return name === 'string' && callee.object.type === 'Identifier' && given.length === 0 ? {} : { checks: node };
  const settings = settingsOf(callee.object, job);
  if (!settings) return undefined;
  if (name === 'optional' && given.length === 0) return { ...settings, required: false };
  if (name === 'describe' && given[0]?.type === 'StringLiteral')
    return { ...settings, description: job.text(given[0]) };
  return { ...settings, ...(name === 'default' && { required: false }), checks: node };
}
