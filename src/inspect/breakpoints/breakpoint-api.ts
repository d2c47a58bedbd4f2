import type { MessageKind } from '../record.ts';

/**
 * What the page and its server say about breakpoints. The page imports this file too, so it has types only.
 */

/**
 * What a rule does with a message that matches its filter.
 *
 * The last three act on responses: their filter is matched against the requests that clients send, and they change the
 * response on the wire.
 */
export type RuleAction =
  /** Holds it until the user decides. Only while a page is open. */
  | { readonly type: 'hold' }
  /** Lets it go on after some milliseconds. The messages of its own call wait, others do not. */
  | { readonly type: 'delay'; readonly ms: number }
  /** Sends a request or a notification twice. Answers go on once. */
  | { readonly type: 'duplicate' }
  /** Lets the next message in its direction overtake it. */
  | { readonly type: 'reorder' }
  | { readonly type: 'drop' }
  /** Lets the message go on, then kills the processes of the server. */
  | { readonly type: 'kill' }
  /** Changes the first brace of the response, so that it is not JSON. */
  | { readonly type: 'corrupt' }
  /** Closes the connection after this many bytes of the response: of its body, or over stdio of its line. */
  | { readonly type: 'cut'; readonly bytes: number }
  /** Answers with a status of HTTP. 404 also ends the session of the request. */
  | { readonly type: 'status'; readonly status: 404 | 500 };

/** A filter, and what to do with messages that match. */
export interface Rule {
  readonly id: number;
  /** In the filter language of the wire. Every message that passes can match. */
  readonly filter: string;
  readonly action: RuleAction;
  readonly enabled: boolean;
  /** Acts only on the match with this number, counted from 1. Default: on each match. */
  readonly nth?: number | undefined;
  /** How many messages have matched since the rule was set. */
  readonly matches: number;
}

/** A message that is held. Its content is fetched with `heldMessage`. */
export interface HeldMessage {
  readonly id: number;
  /** The rule that holds it. */
  readonly rule: number;
  readonly action: 'hold' | 'delay' | 'reorder';
  readonly dir: 'c>s' | 's>c';
  readonly kind: MessageKind;
  /** For an answer, the method of its request. */
  readonly method: string;
  readonly tool?: string | undefined;
  /** The id of the request or the answer on the wire, as JSON. Undefined if it has none, or if it is not known here. */
  readonly messageId?: string | undefined;
  /** The program that sent the request, as it calls itself. */
  readonly client?: string | undefined;
  /**
   * - `held`: it waits for the user, or for its time.
   * - `leaving`: the user let it go, and it waits for messages before it.
   * - `cancelled`: its sender or its receiver gave up, so it cannot go on any more.
   */
  readonly state: 'held' | 'leaving' | 'cancelled';
  /** When its request came, and when it was held. In milliseconds since 1970, like all times. */
  readonly asked: number;
  readonly since: number;
  /** When it goes on by itself. */
  readonly until?: number | undefined;
  /** When a time limit of this inspector ends its request. */
  readonly expires?: number | undefined;
  /** After how many milliseconds the same program gave up a held message before. */
  readonly patience?: number | undefined;
  /** When and why it was cancelled. */
  readonly ended?: { readonly at: number; readonly reason: string } | undefined;
  /** How many messages wait behind it. */
  readonly behind: number;
}

/** The content of a held message, or its beginning. */
export interface HeldText {
  readonly text: string;
  /** The length of all of it, in UTF-16 code units. */
  readonly length: number;
}

/** The rules and what they hold. */
export interface BreakpointState {
  /** What rules can do here. */
  readonly actions: readonly RuleAction['type'][];
  readonly rules: readonly Rule[];
  /** The messages that wait, and the last ones that were cancelled. The oldest first. */
  readonly held: readonly HeldMessage[];
  /** How many messages went on although a rule wanted to hold them, because too many were held. */
  readonly missed: number;
}

/**
 * The commands for breakpoints. The content of a message is JSON text: `{"method": …, "params": …}`, `{"result": …}` or
 * `{"error": …}`.
 */
export interface BreakpointCommands {
  /** Adds a rule, or replaces the one with this id. */
  setRule(rule: Omit<Rule, 'id' | 'matches'> & { readonly id?: number | undefined }): void;
  removeRule(rule: { readonly id: number }): void;
  /** @param message `max`: the most UTF-16 code units of the text that are returned. Default: all. */
  heldMessage(message: { readonly id: number; readonly max?: number | undefined }): HeldText | Promise<HeldText>;
  /** Lets a message go on, with another content if there is a text. */
  forwardHeld(message: { readonly id: number; readonly text?: string | undefined }): void;
  /** Lets all messages go on, in their order. */
  forwardAllHeld(nothing: object): void;
  /** The message is not sent on. A request is then never answered. */
  dropHeld(message: { readonly id: number }): void;
  /** Lets a message go on after some milliseconds. */
  delayHeld(message: { readonly id: number; readonly ms: number }): void;
  /** Answers a request in place of its receiver. The text is a `result` or an `error`. */
  answerHeld(message: { readonly id: number; readonly text: string }): void;
  /** Removes a cancelled message from the list. */
  dismissHeld(message: { readonly id: number }): void;
}

/** Breakpoints as the server of the page uses them. */
export interface BreakpointControl extends BreakpointCommands {
  readonly state: BreakpointState;
  /** Called after each change of the state. */
  onchange: (() => void) | undefined;
  /** Says whether a page is open. When none is, all messages go on. */
  watched(watched: boolean): void;
}
