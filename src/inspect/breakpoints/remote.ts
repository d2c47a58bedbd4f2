import type { MessagePort, Worker } from 'node:worker_threads';
import { Deferred } from '../../base/deferred.ts';
import { CommandRefused } from '../page-server/command-refused.ts';
import type { BreakpointCommands, BreakpointControl, BreakpointState } from './breakpoint-api.ts';

/** Breakpoints for a page that another thread serves. Only the newest state is sent, once the last one was read. */

/** A message from the thread of the page. */
type FromPage =
  | { readonly breakpoints: 'command'; readonly call: number; readonly name: string; readonly argument: unknown }
  | { readonly breakpoints: 'watched'; readonly watched: boolean }
  /** It has read the last state. */
  | { readonly breakpoints: 'read' };

/** A message to the thread of the page. */
type ToPage =
  | { readonly breakpoints: 'state'; readonly state: BreakpointState }
  | { readonly breakpoints: 'done'; readonly call: number; readonly result: unknown }
  | {
      readonly breakpoints: 'refused';
      readonly call: number;
      readonly status?: 400 | 409 | undefined;
      readonly message: string;
    };

/** Whether a message between the threads is about breakpoints. */
export function isAboutBreakpoints(message: unknown): message is FromPage & ToPage {
  return typeof message === 'object' && message !== null && 'breakpoints' in message;
}

/** Lets a page in a worker use breakpoints of this thread. */
export function lendBreakpoints(breakpoints: BreakpointControl, worker: Worker): void {
  const send = (message: ToPage): void => worker.postMessage(message, []);
  let isRead = true;
  let isScheduled = false;
  let isChanged = false;
  const show = (): void => {
    isScheduled = false;
    if (!isRead || !isChanged) return;
    isRead = isChanged = false;
    send({ breakpoints: 'state', state: breakpoints.state });
  };
  breakpoints.onchange = () => {
    isChanged = true;
    if (!isRead || isScheduled) return;
    isScheduled = true;
    setImmediate(show);
  };
  const run = async ({ call, name, argument }: Extract<FromPage, { breakpoints: 'command' }>): Promise<void> => {
    try {
      const command = breakpoints[name as keyof BreakpointCommands] as (argument: unknown) => unknown;
      send({ breakpoints: 'done', call, result: await command.call(breakpoints, argument) });
    } catch (error) {
      const status = error instanceof CommandRefused ? error.status : undefined;
      send({ breakpoints: 'refused', call, status, message: (error as Error).message });
    }
  };
  worker.on('message', (message: unknown) => {
    if (!isAboutBreakpoints(message)) return;
    const order: FromPage = message;
    if (order.breakpoints === 'command') void run(order);
    else if (order.breakpoints === 'watched') breakpoints.watched(order.watched);
    else {
      isRead = true;
      show();
    }
  });
  // If the thread ends, nobody can let messages go on.
  worker.once('exit', () => {
    breakpoints.onchange = undefined;
    breakpoints.watched(false);
  });
}

/** The commands as the page uses them. All of them answer later. */
type Borrowed = { readonly [Name in keyof BreakpointCommands]: (argument: object) => Promise<never> };

/** The breakpoints of the thread that has started this one. */
export function borrowBreakpoints(port: MessagePort, initial: BreakpointState): BreakpointControl {
  const send = (message: FromPage): void => port.postMessage(message);
  const calls = new Map<number, Deferred<unknown>>();
  let last = 0;
  const command =
    (name: keyof BreakpointCommands) =>
    (argument: object): Promise<never> => {
      last += 1;
      const result = new Deferred<unknown>();
      calls.set(last, result);
      send({ breakpoints: 'command', call: last, name, argument });
      return result.promise as Promise<never>;
    };
  const commands: Borrowed = {
    setRule: command('setRule'),
    removeRule: command('removeRule'),
    heldMessage: command('heldMessage'),
    forwardHeld: command('forwardHeld'),
    forwardAllHeld: command('forwardAllHeld'),
    dropHeld: command('dropHeld'),
    delayHeld: command('delayHeld'),
    answerHeld: command('answerHeld'),
    dismissHeld: command('dismissHeld'),
  };
  const control = {
    ...commands,
    state: initial,
    onchange: undefined as (() => void) | undefined,
    watched: (watched: boolean) => send({ breakpoints: 'watched', watched }),
  };
  port.on('message', (message: unknown) => {
    if (!isAboutBreakpoints(message)) return;
    const news: ToPage = message;
    if (news.breakpoints === 'state') {
      control.state = news.state;
      control.onchange?.();
      send({ breakpoints: 'read' });
      return;
    }
    const call = calls.get(news.call);
    calls.delete(news.call);
    if (news.breakpoints === 'done') call?.resolve(news.result);
    else call?.reject(new CommandRefused(news.status ?? 409, news.message));
  });
  return control;
}
