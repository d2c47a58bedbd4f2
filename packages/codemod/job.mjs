/** The longest line for an object literal, in characters. */
const MAX_LINE = 100;

/**
 * The rewriting of one statement: edits that are made together, or not at all. If something in the statement cannot be
 * rewritten safely, `refuse` says what, and nothing is edited.
 */
export class Job {
  #edits = [];
  #file;
  /** Why the statement stays as it is: each with the section of the guide. */
  refusals = [];
  /** What a person must check in the new statement. */
  advice = [];

  /** @param file what is known about the whole file: its source, and the names of imports */
  constructor(file) {
    this.#file = file;
  }

  get zod() {
    return this.#file.zod;
  }

  get templateName() {
    return this.#file.names.ResourceTemplate;
  }

  get completableName() {
    return this.#file.names.completable;
  }

  /** What a constant of the module is, if there is only one of its name. */
  constant(name) {
    return this.#file.constants.get(name);
  }

  text(node) {
    return this.#file.source.slice(node.start, node.end);
  }

  replace(node, text) {
    this.replaceRange(node.start, node.end, text);
  }

  replaceRange(start, end, text, within) {
    const between = this.#file.source.slice(start, end);
    // A comment that would be lost belongs to its author.
    if (within && /\/\/|\/\*/.test(between.replaceAll(/(['"`])(?:\\.|(?!\1)[^\\])*\1/g, '')))
      this.refuse('there is a comment between the arguments', 'replacements');
    this.#edits.push({ start, end, text });
  }

  wrap(node, before, after) {
    this.#edits.push(
      { start: node.start, end: node.start, text: before },
      { start: node.end, end: node.end, text: after },
    );
  }

  /** Inserts a parameter before the only one of a function. */
  insertParameter(handler, name) {
    const [{ start, end }] = handler.params;
    const bare = !this.#file.source.slice(handler.start, start).includes('(');
    if (bare) this.#edits.push({ start, end: start, text: `(${name}, ` }, { start: end, end, text: ')' });
    else this.#edits.push({ start, end: start, text: `${name}, ` });
  }

  /** Inserts a parameter after the last one of a function. Returns whether the function has a list of parameters. */
  appendParameter(handler, name) {
    const source = this.#file.source;
    const last = handler.params.at(-1);
    if (last) {
      const bare = !source.slice(handler.start, last.start).includes('(');
      if (bare) this.wrap(last, '(', `, ${name})`);
      else this.#edits.push({ start: last.end, end: last.end, text: `, ${name}` });
      return true;
    }
    const list = /^(?:async\s*)?(?:function\s*\w*\s*)?\(\s*\)/.exec(source.slice(handler.start, handler.body.start));
    if (!list) return false;
    const end = handler.start + list[0].length - 1;
    this.#edits.push({ start: end, end, text: name });
    return true;
  }

  refuse(why, section) {
    this.refusals.push({ why, section });
    return undefined;
  }

  /** Says what a person must still check in a statement that is rewritten. */
  advise(why, section) {
    this.advice.push({ why, section });
  }

  /** An object literal in place of a node: on one line if it fits, else with one property on each line. */
  object(properties, node) {
    const { source, newline } = this.#file;
    const line = source.lastIndexOf('\n', node.start - 1) + 1;
    const text = properties.length > 0 ? `{ ${properties.join(', ')} }` : '{}';
    if (!text.includes('\n') && node.start - line + text.length <= MAX_LINE) return text;
    const indentation = /^[ \t]*/.exec(source.slice(line))[0];
    return `{${newline}${properties.map((each) => `${indentation}  ${each},${newline}`).join('')}${indentation}}`;
  }

  /** An import that the new code needs. */
  need(module, name) {
    this.#onSuccess(() => this.#file.need(module, name));
  }

  templateRewritten() {
    this.#onSuccess(() => this.#file.rewritten('ResourceTemplate'));
  }

  completableRewritten() {
    this.#onSuccess(() => this.#file.rewritten('completable'));
  }

  stdioRewritten() {
    this.#onSuccess(() => this.#file.rewritten('StdioServerTransport'));
  }

  /** Whether a node is in the options of a call that asks or logs, which need nothing of the handler in Everwire. */
  isServerOption(ancestors) {
    return ancestors.some((node, index) => {
      if (
        node.type !== 'CallExpression' ||
        !/\.(createMessage|elicitInput|listRoots|sendLoggingMessage)$/.test(this.text(node.callee))
      )
        return false;
      return node.arguments[1] !== undefined && node.arguments[1] === ancestors[index + 1];
    });
  }

  #then = [];
  #onSuccess(effect) {
    this.#then.push(effect);
  }

  /** Makes the edits, unless something was refused. Returns whether it did. */
  apply(output) {
    const edits = this.#edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
    const overlaps = edits.some(({ start }, index) => index > 0 && start < edits[index - 1].end);
    if (overlaps) this.refuse('one part to rewrite is inside of another', 'replacements');
    if (this.refusals.length > 0) return false;
    for (const { start, end, text } of edits) {
      if (start === end) output.appendLeft(start, text);
      else output.update(start, end, text);
    }
    for (const effect of this.#then) effect();
    return true;
  }
}
