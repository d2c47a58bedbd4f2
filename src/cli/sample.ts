import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { SampleParams, SampleResult, SamplingMessage } from '../protocol/sampling.ts';
import { agrees, type Prompter } from './prompter.ts';
import { shortText } from '../base/short-text.ts';
import { bytes, indented, MAX_TEXT, oneLine } from './screen.ts';

/** The error code if the user refuses (2025-11-25, client/sampling: Error Handling). */
const REJECTED = -1;

/**
 * Shows the user a sampling request, and lets the user answer instead of a model. A line with a single dot ends the
 * answer.
 *
 * @throws RpcError −1 if the user refuses; the signal's reason if it fires first.
 */
export async function answerByHand(
  prompter: Prompter,
  server: string,
  params: SampleParams,
  signal: AbortSignal,
): Promise<SampleResult> {
  if (!Array.isArray(params.messages)) {
    throw new RpcError(ErrorCode.InvalidParams, 'sampling/createMessage needs a list of messages');
  }
  prompter.print(`${oneLine(server)} asks for a model's answer (at most ${String(params.maxTokens)} tokens):`);
  const shown = params.messages.map((message) => `  ${oneLine(message.role)}: ${indented(textOf(message))}`);
  if (typeof params.systemPrompt === 'string') shown.unshift(`  system: ${indented(params.systemPrompt)}`);
  prompter.print(shortText(shown.join('\n'), MAX_TEXT));
  const agreed = await agrees(prompter, 'Answer in place of the model?', false, signal);
  if (agreed !== true) throw rejected();
  prompter.print('Write the answer, then a line with a single dot.');
  const lines: string[] = [];
  for (;;) {
    const line = await prompter.ask('> ', signal);
    if (line === undefined) throw rejected();
    if (line === '.') break;
    lines.push(line);
  }
  const content = { type: 'text' as const, text: lines.join('\n') };
  return { role: 'assistant', content, model: 'a person', stopReason: 'endTurn' };
}

function rejected(): RpcError {
  return new RpcError(REJECTED, 'User rejected sampling request');
}

function textOf({ content }: SamplingMessage): string {
  const parts = Array.isArray(content) ? content : [content];
  return parts
    .map((part) => {
      switch (part.type) {
        case 'text':
          return part.text;
        case 'image':
        case 'audio':
          return `[${part.mimeType}, ${bytes(Buffer.byteLength(part.data, 'base64'))}]`;
        default:
          return JSON.stringify(part);
      }
    })
    .join('\n');
}
