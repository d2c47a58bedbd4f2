import { expect } from 'vitest';
import type { OfficialClient } from '../clients.ts';
import type { Kind } from './kinds.ts';
import type { World } from './world.ts';

type JsonObject = Record<string, any>;

/** One cell of the matrix, in which a feature is tried. */
export interface Cell {
  readonly client: OfficialClient;
  /** What is behind the bridge. */
  readonly world: World;
  readonly down: Kind;
  readonly up: Kind;
}

export interface Feature {
  readonly name: string;
  /** What comes of it: `SAME`, or what arrives instead. Undefined where the server's revision has no such thing. */
  readonly arrives: (down: Kind, up: Kind) => string | undefined;
  readonly run: (cell: Cell, arrives: string) => Promise<void>;
}

/** What a client's revision can express arrives as it was meant. */
export const SAME = 'as it is';

export const always = (): string => SAME;

/** For what came with a revision: an older server does not have it, and an older client gets something else. */
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

/** The text of a result that is no error. */
export function textOf(result: JsonObject): string {
  expect(result['isError']).not.toBe(true);
  expect(result['content']).toHaveLength(1);
  return result['content'][0]['text'];
}

/** What the official clients say of a report of progress that comes in one chunk with the result: they look a turn later. */
export const LATE_PROGRESS = /progress notification for an unknown token/;

/** How many reports of progress have come to a client since there were so many errors, and were lost on it. */
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
