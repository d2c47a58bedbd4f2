import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { SendRequest } from '../../src/wire/legacy/outbound/own-request.ts';
import { deferred } from './service.ts';

/** A server that answers the client's own requests when the test says so. */
export function askedServer() {
  const log: string[] = [];
  const open: { method: string; settle: (answer: JsonObject | Error) => void }[] = [];
  const send: SendRequest = (method, params) => {
    const answer = deferred<JsonObject>();
    log.push([method, ...Object.values(params)].join(' '));
    const settle = (value: JsonObject | Error): void => {
      const index = open.indexOf(request);
      if (index < 0) return;
      open.splice(index, 1);
      if (value instanceof Error) answer.reject(value);
      else answer.resolve(value);
    };
    const request = { method, settle };
    open.push(request);
    const cancel = (reason: Error): void => {
      if (!open.includes(request)) return;
      log.push(`cancelled ${method}`);
      settle(reason);
    };
    return { result: answer.promise, cancel };
  };
  /** Answers the oldest pending request. */
  const answer = (value: JsonObject | Error = {}): void => open[0]!.settle(value);
  /** The requests and cancellations since the last call. */
  const asked = (): string[] => log.splice(0);
  return { send, answer, asked };
}
