import { expect } from 'vitest';
import type { OfficialClient } from '../clients.ts';
import type { Kind } from './kinds.ts';
import type { World } from './world.ts';

type JsonObject = Record<string, any>;

/** One cell of the matrix: a client, a bridge and a server for which a feature is tested. */
export interface Cell {
  readonly client: OfficialClient;
  /** The server behind the bridge. */
  readonly world: World;
  readonly down: Kind;
  readonly up: Kind;
}

export interface Feature {
  readonly name: string;
  /** The outcome: `SAME`, or what arrives instead. Undefined if the server's revision lacks the feature. */
  readonly arrives: (down: Kind, up: Kind) => string | undefined;
  readonly run: (cell: Cell, arrives: string) => Promise<void>;
}

/** The feature arrives unchanged, because the client's revision can express it. */
export const SAME = 'as it is';

export const always = (): string => SAME;

/** For features added in a revision. Older servers lack them, and older clients get something else. */
export function since(revision: string, instead: string): Feature['arrives'] {
  return (down, up) => {
    if (up.revision < revision) return undefined;
    return down.revision < revision ? instead : SAME;
  };
}

export function named(entries: readonly JsonObject[], name: string): JsonObject {
  const found = entries.find((entry) => entry['name'] === name);
  if (!found) throw new Error(`No ${name} in ${JSON.stringify(entries.map((entry) => entry['name']))}`);
  return found;
}

export async function toolNamed({ client }: Cell, name: string): Promise<JsonObject> {
  return named((await client.methods.listTools())['tools'], name);
}

/** The text of a successful result. */
export function textOf(result: JsonObject): string {
  expect(result['isError']).not.toBe(true);
  expect(result['content']).toHaveLength(1);
  return result['content'][0]['text'];
}

/** The error of official clients if progress and the result come in one chunk: they handle progress a turn too late. */
export const LATE_PROGRESS = /progress notification for an unknown token/;

/** The number of progress notifications that a client has lost since it had `before` errors. */
export async function lostProgress({ errors, losesLateProgress }: OfficialClient, before: number): Promise<number> {
  if (!losesLateProgress) return 0;
  await new Promise((resolve) => void setImmediate(resolve));
  return errors.slice(before).filter(({ message }) => LATE_PROGRESS.test(message)).length;
}

export async function rejection(answer: Promise<unknown>): Promise<Error & { code?: number; data?: unknown }> {
  const result = await answer.then(
    (value) => ({ value }),
    (error: Error) => ({ error }),
  );
  if ('error' in result) return result.error;
  throw new Error(`Should have failed, but answered ${JSON.stringify(result.value)}`);
}
