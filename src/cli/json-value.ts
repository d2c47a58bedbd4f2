import { fileProblem } from '../base/file-problem.ts';
import { fileStream } from '../base/file-stream.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Failure } from './failure.ts';

/** The most bytes that are read from stdin, or from a file. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Reads the value of an option that takes a JSON object: the JSON itself, `@file`, or `-` for stdin.
 *
 * @param what the object, such as `arguments`.
 * @throws Failure with code 2 if it cannot be read, or is no JSON object.
 */
export async function readJson(option: string, what: string, given: string): Promise<JsonObject> {
  const from = given === '-' ? 'stdin' : given.startsWith('@') ? given.slice(1) : option;
  let text = given;
  try {
    if (given === '-') text = await readAll(process.stdin);
    else if (given.startsWith('@')) text = await readAll(fileStream(given.slice(1)));
  } catch (error) {
    throw Failure.usage(`cannot read the ${what} from ${from}: ${fileProblem(error)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw Failure.usage(`the ${what} from ${from} are not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw Failure.usage(`the ${what} from ${from} must be a JSON object`);
  return value;
}

/** A file may also be a pipe or a device, which has no size. */
async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`they are larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
