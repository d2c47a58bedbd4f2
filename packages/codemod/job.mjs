/** The longest line for an object literal, in characters. */
const MAX_LINE = 100;

/**
 * The rewriting of one statement: edits that are made together, or not at all. If the statement as a whole cannot be
 * rewritten safely, `refuse` says why, and nothing is edited. If only a part of it cannot, `mark` says which.
 */
export class Job {
  #edits = [];
  #file;
  /** Why the statement stays as it is: each with the section of the guide. */
  refusals = [];
  /** The parts that stay as they are: each with its node, the reason and the section of the guide. */
  marks = [];
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

  /** What the module calls the errors of the SDK and their codes, and whether Everwire has all codes that it uses. */
  get errorNames() {
    const { names, hasOnlyKnownCodes } = this.#file;
    return { McpError: names.McpError, ErrorCode: names.ErrorCode, hasOnlyKnownCodes };
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

  /** @param text the new text, or a function that makes it and gets the new text of a node in the range */
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

  /** Removes a statement with its line, and edits in it. */
  remove({ start, end }) {
    const { source } = this.#file;
    const line = source.lastIndexOf('\n', start - 1) + 1;
    const isAlone = /^[ \t]*$/.test(source.slice(line, start)) && /^[ \t]*\r?\n/.test(source.slice(end));
    const from = isAlone ? line : start;
    const to = isAlone ? source.indexOf('\n', end) + 1 : end;
    this.#edits = this.#edits.filter((edit) => edit.start < from || edit.end > to);
    this.#edits.push({ start: from, end: to, text: '' });
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

  /** Says that a part stays as it is, while the rest of the statement is rewritten. */
  mark(node, why, section) {
    this.marks.push({ node, why, section });
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

  /** Makes the edits, unless something was refused. Returns whether it made some. */
  apply(output) {
    // At one place, insertions come first, and then the outer ones.
    const isInsertion = ({ start, end }) => start === end;
    const edits = this.#edits.toSorted((a, b) => a.start - b.start || isInsertion(b) - isInsertion(a) || b.end - a.end);
    const outer = [];
    for (const edit of edits) {
      const last = outer.at(-1);
      if (last === undefined || edit.start >= last.end) outer.push({ ...edit, inner: [] });
      else if (edit.end <= last.end && typeof last.text === 'function') last.inner.push(edit);
      else this.refuse('one part to rewrite is inside of another', 'replacements');
    }
    if (this.refusals.length > 0) return false;
    for (const { start, end, text, inner } of outer) {
      const made = typeof text === 'function' ? text((node) => this.#rewritten(node, inner)) : text;
      if (start === end) output.appendLeft(start, made);
      else {
        output.update(start, end, made);
        this.#file.edited.push({ start, end, text: made });
      }
    }
    for (const effect of this.#then) effect();
    return edits.length > 0;
  }

  /** The text of a node with those edits that are in it. */
  #rewritten(node, edits) {
    let text = '';
    let at = node.start;
    for (const { start, end, text: made } of edits) {
      if (start < at || end > node.end) continue;
      text += this.#file.source.slice(at, start) + made;
      at = end;
    }
    return text + this.#file.source.slice(at, node.end);
  }
}
