import { parse } from '@babel/parser';

/** Parses a module of TypeScript or JavaScript. @throws SyntaxError */
export function parseModule(source, file) {
  const plugins = /\.[cm]?ts$/.test(file) ? ['typescript'] : ['typescript', 'jsx'];
  return parse(source, { sourceType: 'module', plugins: [...plugins, 'decorators'] }).program;
}

/** Calls `visit` with each node below a node, and with its ancestors, the nearest one last. */
export function walk(node, visit, ancestors = []) {
  visit(node, ancestors);
  const below = [...ancestors, node];
  for (const [key, value] of Object.entries(node)) {
    if (key === 'loc' || key.endsWith('Comments')) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child && typeof child.type === 'string') walk(child, visit, below);
    }
  }
}

/** The names that a pattern declares. */
function declaredBy(pattern) {
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern];
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) => declaredBy(property.value ?? property.argument));
    case 'ArrayPattern':
      return pattern.elements.flatMap(declaredBy);
    case 'AssignmentPattern':
      return declaredBy(pattern.left);
    case 'RestElement':
      return declaredBy(pattern.argument);
    case 'TSParameterProperty':
      return declaredBy(pattern.parameter);
    default:
      return [];
  }
}

/** Every declaration of a name below a node, as identifiers by name. */
export function declarationsIn(root) {
  const found = new Map();
  const add = (identifier) => {
    const known = found.get(identifier.name);
    if (known) known.push(identifier);
    else found.set(identifier.name, [identifier]);
  };
  walk(root, (node) => {
    if (node.type === 'VariableDeclarator') declaredBy(node.id).forEach(add);
    if (node.type === 'CatchClause') declaredBy(node.param).forEach(add);
    if (node.type.startsWith('Import') && node.local) add(node.local);
    if (Array.isArray(node.params) && node.body) node.params.flatMap(declaredBy).forEach(add);
    if (/^(Function|Class|TSEnum|TSInterface|TSTypeAlias)\w*Declaration$/.test(node.type) && node.id) add(node.id);
  });
  return found;
}

/** The uses of a name below a node, each with its ancestors. Declarations and property names are no uses. */
export function usesOf(name, root, declarations) {
  const declared = new Set(declarations.get(name) ?? []);
  const uses = [];
  walk(root, (node, ancestors) => {
    if (node.type !== 'Identifier' || node.name !== name || declared.has(node)) return;
    const parent = ancestors.at(-1);
    const isKey = (parent.property === node || parent.key === node) && !parent.computed;
    if (!isKey && !parent.type.startsWith('Import')) uses.push({ node, ancestors });
  });
  return uses;
}

export const isFunction = (node) => node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** The properties of an object literal by name. Undefined if it has methods, spreads or computed names. */
export function propertiesOf(node) {
  if (node?.type !== 'ObjectExpression') return undefined;
  const found = new Map();
  for (const property of node.properties) {
    if (property.type !== 'ObjectProperty' || property.computed) return undefined;
    found.set(property.key.name ?? String(property.key.value), property);
  }
  return found;
}

/** The name of the property that a node is taken from, as in `node.name`; undefined if there is none. */
export function memberOf(node, ancestors) {
  const parent = ancestors.at(-1);
  const isMember = parent.type === 'MemberExpression' || parent.type === 'OptionalMemberExpression';
  return isMember && parent.object === node && !parent.computed ? parent : undefined;
}

/** The statement that a node is in. */
export function statementOf(ancestors) {
  return ancestors.findLast(({ type }) => /Statement$|Declaration$/.test(type) && type !== 'BlockStatement');
}
