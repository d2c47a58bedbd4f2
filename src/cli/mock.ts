import { parse } from 'node:path';
import type { MockServer } from '../mock/mock-server.ts';
import { unrepeated } from '../operate/repetition.ts';
import type { MockFlags } from './mock-options.ts';
import { keepInputs } from './keep-input.ts';
import { unreadable } from './open-recording.ts';
import { printStatus } from './print-status.ts';
import { run } from './run.ts';
import { atEnd } from './shutdown.ts';

/**
 * `everwire mock`: serves a recording.
 *
 * @throws Failure with code 2 if the file cannot be read, is not a recording, or has no request that was answered.
 */
export async function mock(file: string, flags: MockFlags): Promise<void> {
  await keepInputs(flags, file);
  const server = await open(file, flags);
  atEnd(() => server.close());
  await run(parse(file).name, server, flags);
}

async function open(file: string, { fast, lenient }: MockFlags): Promise<MockServer> {
  const { mockServer } = await import('../mock/mock-server.ts');
  const print = unrepeated(printStatus);
  try {
    return await mockServer(file, {
      fast,
      lenient,
      onmiss: ({ message }) => print(message),
      onerror: ({ message }) => print(message),
    });
  } catch (error) {
    throw unreadable(error, file);
  }
}
