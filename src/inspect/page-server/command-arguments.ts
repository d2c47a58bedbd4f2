import { AUTHORIZED_REVISIONS } from '../../auth/steps/step.ts';
import { isObject } from '../../jsonrpc/message.ts';
import type { BreakpointCommands, RuleAction } from '../breakpoints/breakpoint-api.ts';
import { LOG_LEVELS } from '../../protocol/logging.ts';
import { REVISIONS } from '../../protocol/revisions.ts';
import { CommandRefused } from './command-refused.ts';
import type { PageCommands } from './page-api.ts';
import type { SessionCommands } from './session-api.ts';
import { isSavedName, MAX_SAVED_NAME, SAVED_METHODS } from './saved-name.ts';

/** The type that a field must have. */
interface Kind {
  readonly name: string;
  readonly optional?: boolean;
  readonly accepts: (value: unknown) => boolean;
}

/** The longest key that a page may give to a request, in UTF-16 code units. */
const MAX_KEY = 200;

const isText = (value: unknown): value is string => typeof value === 'string';
const text: Kind = { name: 'a string', accepts: isText };
const object: Kind = { name: 'an object', accepts: isObject };
const key: Kind = {
  name: `a string of 1 to ${MAX_KEY} characters`,
  accepts: (value) => isText(value) && value !== '' && value.length <= MAX_KEY,
};
const strings: Kind = {
  name: 'an object of strings',
  accepts: (value) => isObject(value) && Object.values(value).every(isText),
};
const count: Kind = {
  name: 'a whole number that is not negative',
  accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};
const roots: Kind = {
  name: 'a list of roots',
  accepts: (value) =>
    Array.isArray(value) &&
    value.every(
      (root) => isObject(root) && isText(root['uri']) && ['string', 'undefined'].includes(typeof root['name']),
    ),
};
const error: Kind = { name: 'an error', accepts: (value) => isObject(value) && isText(value['message']) };
const boolean: Kind = { name: 'true or false', accepts: (value) => typeof value === 'boolean' };
const savedName: Kind = {
  name: `one line of 1 to ${MAX_SAVED_NAME} characters`,
  accepts: (value) => isText(value) && isSavedName(value),
};
const oneOf = (values: readonly string[]): Kind => ({
  name: `one of ${values.join(', ')}`,
  accepts: (value) => values.includes(value as string),
});
const flag: Kind = { name: 'true or false', accepts: (value) => typeof value === 'boolean' };
/** The actions of rules, with what else they need. */
const ACTIONS: Readonly<Record<RuleAction['type'], Readonly<Record<string, Kind>>>> = {
  hold: {},
  delay: { ms: count },
  duplicate: {},
  reorder: {},
  drop: {},
  kill: {},
  corrupt: {},
  cut: { bytes: count },
  status: { status: { name: '404 or 500', accepts: (value: unknown) => value === 404 || value === 500 } },
};
/** Whether a value is an action of a rule. */
export function isRuleAction(value: unknown): value is RuleAction {
  if (!isObject(value) || !isText(value['type']) || !Object.hasOwn(ACTIONS, value['type'])) return false;
  const fields = ACTIONS[value['type'] as RuleAction['type']];
  const { type: _, ...others } = value;
  return (
    Object.keys(others).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, kind]) => kind.accepts(value[name]))
  );
}

const action: Kind = { name: 'an action of a rule', accepts: isRuleAction };
const messages: Kind = {
  name: 'a list of messages',
  accepts: (value) =>
    Array.isArray(value) &&
    value.every(
      (each) =>
        isObject(each) &&
        (each['from'] === 'app' || each['from'] === 'host') &&
        isText(each['text']) &&
        !each['text'].includes('\n'),
    ),
};
const anything: Kind = { name: 'JSON', accepts: () => true };
const optional = (kind: Kind): Kind => ({ ...kind, optional: true });

type FieldsOf<Commands> = {
  readonly [Name in keyof Commands]: Commands[Name] extends (argument: infer Argument) => unknown
    ? Record<keyof Argument, Kind>
    : never;
};

const BREAKPOINT_FIELDS: FieldsOf<BreakpointCommands> = {
  setRule: { id: optional(count), filter: text, action, enabled: flag, nth: optional(count) },
  removeRule: { id: count },
  heldMessage: { id: count, max: optional(count) },
  forwardHeld: { id: count, text: optional(text) },
  forwardAllHeld: {},
  dropHeld: { id: count },
  delayHeld: { id: count, ms: count },
  answerHeld: { id: count, text },
  dismissHeld: { id: count },
};

const texts: Kind = { name: 'a list of strings', accepts: (value) => Array.isArray(value) && value.every(isText) };
const SESSION_FIELDS: FieldsOf<SessionCommands> = {
  compareSessions: { before: optional(text), after: optional(text), ignore: texts },
  replaySession: { before: optional(text), ignore: texts, call: texts },
  endReplay: {},
};

/** What the page can post: a command, or `outcome` for the outcome of a request. */
export type Posted = keyof PageCommands | keyof BreakpointCommands | keyof SessionCommands | 'outcome';

const FIELDS: FieldsOf<PageCommands & BreakpointCommands & SessionCommands> & {
  readonly outcome: { readonly key: Kind };
} = {
  ...BREAKPOINT_FIELDS,
  ...SESSION_FIELDS,
  outcome: { key },
  connect: {
    choice: optional(text),
    url: optional(text),
    headers: optional(strings),
    revision: optional(oneOf(Object.keys(REVISIONS))),
    transport: optional(oneOf(['streamable-http', 'sse'])),
  },
  disconnect: {},
  request: { key, method: text, params: text, timeout: optional(count) },
  cancel: { key },
  answer: { question: count, result: optional(object), error: optional(error) },
  setRoots: { roots },
  subscribe: { uri: text },
  unsubscribe: { uri: text },
  setLogLevel: { level: oneOf(LOG_LEVELS) },
  startAuthorization: {
    choice: optional(text),
    url: optional(text),
    revision: oneOf(AUTHORIZED_REVISIONS),
    clientId: optional(text),
    clientSecret: optional(text),
    clientMetadataUrl: optional(text),
    scope: optional(text),
    tool: optional(text),
    args: optional(text),
  },
  proceedAuthorization: { parameters: optional(strings) },
  endAuthorization: {},
  resend: { head: optional(text), body: text, encoding: oneOf(['utf8', 'base64']) },
  listSaved: {},
  save: { name: savedName, method: oneOf(SAVED_METHODS), params: text, replace: optional(boolean) },
  removeSaved: { name: text },
  saveRules: {},
  addSavedRules: {},
  serveApp: { uri: text, html: text, csp: optional(anything) },
  closeApp: { id: count },
  recordApp: { id: count, messages },
};

/** Whether the page can post this. */
export function isPosted(name: string): name is Posted {
  return Object.hasOwn(FIELDS, name);
}

/** Whether a command is about breakpoints. */
export function isAboutBreakpoints(name: Posted): name is keyof BreakpointCommands {
  return Object.hasOwn(BREAKPOINT_FIELDS, name);
}

/** Whether a command is about whole sessions. */
export function isAboutSessions(name: Posted): name is keyof SessionCommands {
  return Object.hasOwn(SESSION_FIELDS, name);
}

/** Checks the argument of a command. @throws CommandRefused that names the field. */
export function checkArgument(command: Posted, argument: unknown): void {
  const fields: Record<string, Kind> = FIELDS[command];
  if (!isObject(argument)) throw new CommandRefused(400, 'The argument of a command must be a JSON object.');
  for (const name of Object.keys(argument))
    if (!Object.hasOwn(fields, name)) throw new CommandRefused(400, `${command} has no field ${JSON.stringify(name)}.`);
  for (const [name, kind] of Object.entries(fields)) {
    const value = argument[name];
    if (value === undefined ? !kind.optional : !kind.accepts(value))
      throw new CommandRefused(400, `${JSON.stringify(name)} of ${command} must be ${kind.name}.`);
  }
}
