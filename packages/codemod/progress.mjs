import { declarationsIn, usesOf } from './syntax.mjs';

/**
 * What surrounds progress in a handler of the SDK: a variable with the progress token, and the conditions that it is given.
 * `ctx.progress` needs neither, because it does nothing without a token.
 */
export class Progress {
  /** The calls that became `ctx.progress`. */
  calls = new Set();
  #handler;
  #job;

  constructor(handler, job) {
    this.#handler = handler;
    this.#job = job;
  }

  /** Removes what is not needed any more. @param uses of the second parameter, or of its names */
  rewriteGuards(uses) {
    if (this.calls.size === 0) return;
    const declarations = declarationsIn(this.#handler);
    for (const { ancestors } of uses) {
      const declaration = ancestors.findLast(({ type }) => type === 'VariableDeclaration');
      const [declarator, ...others] = declaration?.declarations ?? [];
      const name = declarator && others.length === 0 ? this.#tokenOf(declarator) : undefined;
      if (name === undefined || declarations.get(name)?.length !== 1) continue;
      const tokens = usesOf(name, this.#handler, declarations);
      const guards = tokens.filter((use) => !this.#isInCall(use)).map((use) => this.#guardOf(use));
      if (guards.some((guard) => guard === undefined)) continue;
      this.#job.remove(declaration);
      for (const guard of new Set(guards)) this.#unwrap(guard);
    }
  }

  /** The name of a variable that holds the token. */
  #tokenOf({ id, init }) {
    const value = init && this.#job.text(init).replaceAll(/\s+/g, '');
    if (id.type === 'Identifier' && /^(\w+\.)?_meta[?!]?\.progressToken$/.test(value)) return id.name;
    const isPattern = id.type === 'ObjectPattern' && this.#job.text(id).replaceAll(/\s+/g, '') === '{progressToken}';
    return isPattern && /^(\w+\.)?_meta(\?\?\{\})?!?$/.test(value) ? 'progressToken' : undefined;
  }

  #isInCall({ ancestors }) {
    return ancestors.some((each) => this.calls.has(each));
  }

  /** The condition that a token is given, if nothing but progress depends on it. */
  #guardOf({ node, ancestors }) {
    const index = ancestors.findLastIndex(({ type }) => type === 'IfStatement');
    const guard = ancestors[index];
    if (!guard || guard.alternate || ancestors[index + 1] === guard.consequent) return undefined;
    const test = this.#job.text(guard.test).replaceAll(/\s+/g, '');
    if (![node.name, `${node.name}!==undefined`, `${node.name}!=null`, `${node.name}!=undefined`].includes(test))
      return undefined;
    const { consequent } = guard;
    const statements = consequent.type === 'BlockStatement' ? consequent.body : [consequent];
    const isProgress = ({ type, expression }) =>
      type === 'ExpressionStatement' &&
      this.calls.has(expression.type === 'AwaitExpression' ? expression.argument : expression);
    return statements.length > 0 && statements.every(isProgress) ? guard : undefined;
  }

  #unwrap({ start, end, consequent }) {
    const statements = consequent.type === 'BlockStatement' ? consequent.body : [consequent];
    this.#job.replaceRange(start, statements[0].start, '');
    if (statements.at(-1).end < end) this.#job.replaceRange(statements.at(-1).end, end, '');
  }
}
