import { MagicString } from 'magic-string';
import { Job } from './job.mjs';
import { oneLine } from './one-line.mjs';
import { rewriteRegistration } from './registrations.mjs';
import { rewriteServerUse } from './server-uses.mjs';
import { declarationsIn, memberOf, parseModule, propertiesOf, statementOf, usesOf, walk } from './syntax.mjs';

const SDK = '@modelcontextprotocol/sdk/';
const GUIDE = 'docs/moving/official-sdk-1.md';
const REGISTRATIONS = new Set(['registerTool', 'tool', 'registerResource', 'resource', 'registerPrompt', 'prompt']);
const DECLARED = new Set(['completions', 'logging', 'prompts', 'resources', 'tools']);
/** The codes that have the same name in both. */
const CODES = new Set(['InternalError', 'InvalidParams', 'InvalidRequest', 'MethodNotFound', 'ParseError']);
const UPDATABLE = new Set(['annotations', 'description', 'enabled', 'title', '_meta']);

/** Rewrites a module from the official SDK 1.x to Everwire. @throws SyntaxError if it cannot be parsed */
export function transform(source, path = 'module.ts') {
  const program = parseModule(source, path);
  const output = new MagicString(source);
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  const todos = [];
  const todo = (node, reasons) => {
    // A name in the source may have any character, and the text becomes a comment.
    for (const { why, section } of reasons) todos.push({ node, text: oneLine(`${why}. See ${GUIDE}#${section}`) });
  };
  const closed = templatesIn(program);
  const result = (changes) => {
    const written = writeTodos(todos, source, closed, output);
    return { code: output.toString(), changes, todos: written };
  };
  const imports = program.body.filter((node) => node.type === 'ImportDeclaration' && node.source.value.startsWith(SDK));
  const namespaces = imports.filter(({ specifiers }) => specifiers.some(({ type }) => type !== 'ImportSpecifier'));
  for (const node of namespaces) todo(node, [{ why: 'a namespace import is not rewritten', section: 'replacements' }]);
  const names = {};
  for (const { imported, local } of imports.flatMap(({ specifiers }) => specifiers))
    if (imported) names[imported.name] = local.name;
  if (names.McpServer === undefined || namespaces.length > 0) return { ...result(0), note: noteOn(source, program) };

  const declarations = declarationsIn(program);
  const constants = constantsIn(program, declarations);
  const file = { source, newline, names, zod: zodIn(program), constants, needed: new Map(), edited: closed };
  file.hasOnlyKnownCodes = usesOf(names.ErrorCode, program, declarations).every(({ node, ancestors }) =>
    CODES.has(memberOf(node, ancestors)?.property.name),
  );
  file.need = (module, name) => file.needed.set(module, (file.needed.get(module) ?? new Set()).add(name));

  // The servers. If one of them has to stay, all of the file stays.
  const creations = [];
  const servers = new Set();
  for (const { node, ancestors } of usesOf(names.McpServer, program, declarations)) {
    const parent = ancestors.at(-1);
    const job = new Job(file);
    const isCreation = parent.type === 'NewExpression' && parent.callee === node;
    const variable = isCreation ? createdVariable(ancestors.at(-2)) : typedVariable(ancestors);
    if (isCreation) rewriteCreation(parent, job);
    else if (parent.type !== 'TSTypeReference') job.refuse(`${names.McpServer} is used in another way`, 'the-server');
    // The uses of a property, or of what a function returns, cannot be found.
    if (isCreation ? !variable : variable === null) job.refuse('the server is not in a variable', 'the-server');
    if (variable) servers.add(variable.name);
    creations.push({ job, statement: statementOf(ancestors) });
  }
  for (const name of servers) {
    const [first, ...others] = declarations.get(name) ?? [];
    const job = new Job(file);
    const isServer = ({ typeAnnotation: type }) => type?.typeAnnotation.typeName?.name === names.McpServer;
    if (others.length > 0 && !others.every(isServer)) job.refuse(`${name} is declared several times`, 'the-server');
    creations.push({ job, statement: first });
  }
  const blocked = creations.filter(({ job }) => job.refusals.length > 0);
  for (const { job, statement } of blocked) todo(statement, job.refusals);
  if (blocked.length > 0) return result(0);
  let changes = 0;
  const attempt = (job, statement) => {
    if (job.apply(output)) changes += 1;
    todo(statement, job.refusals);
    if (job.refusals.length > 0) return;
    todo(statement, job.advice);
    for (const mark of job.marks) todo(mark.node, [mark]);
  };
  for (const { job } of creations) job.apply(output);

  // Each registration with its handler, and then what is left.
  const uses = [...servers].flatMap((name) => usesOf(name, program, declarations));
  const registrations = uses.filter(({ node, ancestors }) => {
    const member = memberOf(node, ancestors);
    return REGISTRATIONS.has(member?.property.name) && ancestors.at(-2).callee === member;
  });
  const registering = new Set(registrations.map(({ ancestors }) => ancestors.at(-2)));
  for (const { node, ancestors } of registrations) {
    const call = ancestors.at(-2);
    // A registration inside of another handler goes with that one, which is too much to know.
    const job = new Job(file);
    if (ancestors.slice(0, -2).some((each) => registering.has(each)))
      job.refuse('this registration is in a handler', 'changes');
    const extra = rewriteRegistration(memberOf(node, ancestors).property.name, call, job);
    for (const use of uses)
      if (use.node !== node && use.ancestors.includes(call)) rewriteServerUse(use.node, use.ancestors, extra, job);
    attempt(job, statementOf(ancestors));
    checkUpdates(ancestors.at(-3), program, declarations, todo);
  }
  markThrows(program, declarations, registering, todo);
  for (const { node, ancestors } of uses) {
    if (ancestors.some((each) => registering.has(each))) continue;
    const job = new Job(file);
    rewriteServerUse(node, ancestors, undefined, job);
    attempt(job, statementOf(ancestors));
  }
  if (names.StdioServerTransport) {
    for (const { ancestors } of usesOf(names.StdioServerTransport, program, declarations)) {
      const job = new Job(file);
      const parent = ancestors.at(-1);
      if (parent.type !== 'NewExpression' || parent.arguments.length > 0)
        job.refuse('the transport has options', 'transports-and-sessions');
      job.replace(parent, 'stdioServerTransport()');
      job.need('everwire/stdio', 'stdioServerTransport');
      attempt(job, statementOf(ancestors));
    }
  }
  rewriteImports(imports, { file, names, program, declarations, output, todo });
  return result(changes);
}

/** The ranges of texts in template literals, into which no comment can be written. */
function templatesIn(program) {
  const found = [];
  walk(program, (node) => {
    if (node.type === 'TemplateElement') found.push({ start: node.start, end: node.end });
  });
  return found;
}

/** Writes each comment above the line of its node. If that is not possible, it goes above what is in the way. */
function writeTodos(todos, source, closed, output) {
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  const placeOf = (at) => {
    const line = source.lastIndexOf('\n', at - 1) + 1;
    const place = line + /^[ \t]*/.exec(source.slice(line))[0].length;
    const around = closed.find(({ start, end }) => start < place && place < end);
    return around ? placeOf(around.start) : { line, place };
  };
  const written = [];
  for (const { node, text } of todos) {
    const { line, place } = placeOf(node.start);
    if (written.some((each) => each.place === place && each.text === text)) continue;
    written.push({ place, text, line: source.slice(0, place).split('\n').length });
    const comment = `// TODO(everwire): ${text}${newline}`;
    // An earlier run has written it.
    if (source.slice(0, line).endsWith(comment)) continue;
    output.appendLeft(place, comment + source.slice(line, place));
  }
  return written.map(({ line, text }) => ({ line, text })).toSorted((a, b) => a.line - b.line);
}

/** Why there is nothing to rewrite. */
function noteOn(source, program) {
  const moved = program.body.some(
    (node) => node.type === 'ImportDeclaration' && node.source.value.startsWith('everwire/server'),
  );
  if (moved) return `already moved, ${source.split('TODO(everwire)').length - 1} TODO(everwire) left`;
  if (/\brequire\(\s*['"`]@modelcontextprotocol\/sdk/.test(source))
    return 'is CommonJS, and only ES modules are rewritten; change require to import first';
  return undefined;
}

/** The values of the module's constants whose names have one meaning. */
function constantsIn(program, declarations) {
  const found = new Map();
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
    if (declaration?.type !== 'VariableDeclaration' || declaration.kind !== 'const') continue;
    for (const { id, init } of declaration.declarations)
      if (init && declarations.get(id.name)?.length === 1) found.set(id.name, init);
  }
  return found;
}

/** The name of Zod 4 in the module. */
function zodIn(program) {
  for (const node of program.body) {
    if (node.type !== 'ImportDeclaration' || !/^zod(\/v4)?$/.test(node.source.value)) continue;
    for (const { type, imported, local } of node.specifiers)
      if (type !== 'ImportSpecifier' || imported.name === 'z') return local.name;
  }
  return undefined;
}

/** The variable that a new server is in. */
function createdVariable(parent) {
  const place = parent.type === 'VariableDeclarator' ? parent.id : parent.left;
  return place?.type === 'Identifier' ? place : undefined;
}

/** The variable or parameter that has the type of a server. Undefined for other types, null for a property. */
function typedVariable(ancestors) {
  const at = ancestors.findLastIndex(({ type }) => type === 'Identifier' || /Property(Signature)?$/.test(type));
  if (at < 0) return undefined;
  return ancestors[at].type === 'Identifier' && ancestors[at - 1].type !== 'TSParameterProperty' ? ancestors[at] : null;
}

/** `new McpServer(info, { instructions, capabilities })` becomes `new McpServer({ …info, instructions })`. */
function rewriteCreation(node, job) {
  const [info, options] = node.arguments;
  if (!propertiesOf(info)) return job.refuse('the description of the server is not an object literal', 'the-server');
  if (!options) return undefined;
  const properties = propertiesOf(options);
  const capabilities = properties?.get('capabilities');
  const declared = capabilities ? [...(propertiesOf(capabilities.value)?.keys() ?? ['…'])] : [];
  const unknown = [...(properties?.keys() ?? ['…'])].filter((key) => key !== 'instructions' && key !== 'capabilities');
  if (unknown.length > 0 || declared.some((key) => !DECLARED.has(key)))
    return job.refuse('the options of the server have more than instructions and known capabilities', 'the-server');
  const instructions = properties.get('instructions');
  const known = job.text(info).slice(1, -1).trim().replace(/,$/, '');
  const text = instructions ? `{ ${known}, ${job.text(instructions)} }` : job.text(info);
  return job.replaceRange(info.start, options.end, text, node);
}

/** Marks errors that a handler can throw by calling a function of the module. */
function markThrows(program, declarations, registering, todo) {
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node?.type !== 'FunctionDeclaration' || declarations.get(node.id.name)?.length !== 1) continue;
    const uses = usesOf(node.id.name, program, declarations);
    if (!uses.some(({ ancestors }) => ancestors.some((each) => registering.has(each)))) continue;
    walk(node.body, (thrown) => {
      if (thrown.type !== 'ThrowStatement' || thrown.argument.callee?.name !== 'Error') return;
      const why = `${node.id.name} throws an Error, whose message Everwire does not show to the model`;
      todo(thrown, [{ why, section: 'errors' }]);
    });
  }
}

/** Marks updates of settings that have another name, or cannot be changed. */
function checkUpdates(declarator, program, declarations, todo) {
  if (declarator?.type !== 'VariableDeclarator' || declarator.id.type !== 'Identifier') return;
  for (const { node, ancestors } of usesOf(declarator.id.name, program, declarations)) {
    if (memberOf(node, ancestors)?.property.name !== 'update') continue;
    const keys = [...(propertiesOf(ancestors.at(-2).arguments?.[0])?.keys() ?? ['…'])].filter(
      (key) => !UPDATABLE.has(key),
    );
    if (keys.length > 0)
      todo(statementOf(ancestors), [
        { why: `update of ${keys.join(', ')} has no direct replacement`, section: 'changes' },
      ]);
  }
}

function rewriteImports(imports, { file, names, program, declarations, output, todo }) {
  const aliased = names.McpServer === 'McpServer' ? 'McpServer' : `McpServer as ${names.McpServer}`;
  const typeOnly = imports.some(
    ({ importKind, specifiers }) =>
      importKind === 'type' && specifiers.some(({ imported }) => imported.name === 'McpServer'),
  );
  file.need('everwire/server', aliased);
  const quote = file.source[imports[0].source.start];
  const added = [...file.needed].map(([module, wanted]) => {
    const kind = typeOnly && wanted.size === 1 && wanted.has(aliased) ? 'import type' : 'import';
    return `${kind} { ${[...wanted].toSorted((a, b) => a.localeCompare(b)).join(', ')} } from ${quote}${module}${quote};`;
  });
  const isGone = (local, node) =>
    file.edited.some(
      ({ start, end, text }) =>
        text !== undefined && start <= node.start && node.end <= end && !new RegExp(`\\b${local}\\b`).test(text),
    );
  const hasOwnCodes = [...(file.needed.get('everwire/server') ?? [])].some((name) => name.startsWith('ErrorCode'));
  const isDone = (name) => {
    if (name === 'McpServer') return true;
    if (name === 'ErrorCode' && hasOwnCodes) return true;
    const uses = usesOf(names[name], program, declarations);
    return uses.length > 0 && uses.every(({ node }) => isGone(names[name], node));
  };
  for (const [index, node] of imports.entries()) {
    const kept = node.specifiers.filter(({ imported }) => !isDone(imported.name));
    const lines = index === 0 ? added.toSorted((a, b) => a.localeCompare(b)) : [];
    if (kept.length === node.specifiers.length) {
      if (lines.length > 0) output.appendLeft(node.start, lines.map((line) => line + file.newline).join(''));
    } else {
      if (kept.length > 0) {
        const text = kept.map(({ start, end }) => file.source.slice(start, end)).join(', ');
        lines.push(
          `import ${node.importKind === 'type' ? 'type ' : ''}{ ${text} } from ${file.source.slice(node.source.start, node.end)}`,
        );
      }
      const rest = /^\r?\n/.exec(file.source.slice(node.end))?.[0].length ?? 0;
      if (lines.length > 0) output.update(node.start, node.end, lines.join(file.newline));
      else output.remove(node.start, node.end + rest);
    }
    const transports = kept.filter(({ imported }) => imported.name === 'StreamableHTTPServerTransport');
    if (transports.length > 0)
      todo(node, [
        {
          why: 'the transport still works; to serve HTTP without it, use server.listen() or server.node',
          section: 'transports-and-sessions',
        },
      ]);
  }
}
