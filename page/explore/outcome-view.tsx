import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { Portions } from '../ui/portions.tsx';
import { Visible } from '../ui/visible.tsx';
import { durationText, save } from './bytes.ts';
import { sizeText } from '../wire/format.ts';
import { Content, ResourceContents } from './content.tsx';
import { contentPortion } from './content-portion.ts';
import { memberText } from './answer-record.ts';
import { Disclosure } from './disclosure.tsx';
import { textOf } from './entry-list.ts';
import { JsonView } from './json-view.tsx';
import { outputProblem } from './output-schema.ts';
import type { Outcome } from './request.ts';
import { taskOf } from './task.ts';

interface OutcomeViewProps {
  readonly outcome: Outcome;
  /** The result as JSON text, as it was on the wire. */
  readonly source?: string | undefined;
  /** For the file. */
  readonly name: string;
  /** What the structured content of a tool must match. */
  readonly outputSchema?: unknown;
  readonly onread?: ((uri: string) => void) | undefined;
}

/** What became of a request. */
export function OutcomeView({ outcome, source, name, outputSchema, onread }: OutcomeViewProps): JSX.Element {
  switch (outcome.kind) {
    case 'refused':
    case 'lost':
      return (
        <div class="notice bad">
          <p>{outcome.kind === 'refused' ? 'Nothing was sent.' : 'The server may have received the request.'}</p>
          <p>
            <Visible text={outcome.message} lines />
          </p>
        </div>
      );
    case 'error':
      return <ErrorView error={outcome.error} />;
    case 'large':
      return (
        <>
          <p class="toolbar">
            <button type="button" class="primary" onClick={() => save(outcome.whole, `${name}.json`)}>
              Save all
            </button>
            <span>The response has {sizeText(outcome.whole.size)}. This is how it begins:</span>
          </p>
          <pre class="block" tabIndex={0}>
            <Visible text={outcome.head} lines max={100_000} />
          </pre>
        </>
      );
    default:
      return <ResultView result={outcome.result} source={source} outputSchema={outputSchema} onread={onread} />;
  }
}

/** A summary in a few words, also for screen readers. */
export function summaryOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'refused':
      return 'Refused';
    case 'lost':
      return 'Result lost';
    case 'error':
      return `Error after ${durationText(outcome.duration)}`;
    case 'large':
      return `Result after ${durationText(outcome.duration)}, ${sizeText(outcome.whole.size)}`;
    default: {
      const isTask = taskOf(outcome.result) !== undefined;
      const what = outcome.result['isError'] === true ? 'The tool failed' : isTask ? 'Became a task' : 'Result';
      return `${what} after ${durationText(outcome.duration)}`;
    }
  }
}

function ErrorView({ error }: { error: { code?: number | undefined; message: string; data?: unknown } }): JSX.Element {
  return (
    <>
      <div class="notice bad">
        {error.code !== undefined && <strong>Error {String(error.code)}</strong>}
        <p>
          <Visible text={error.message} lines />
        </p>
      </div>
      {error.data !== undefined && (
        <>
          <h4>Data</h4>
          <JsonView value={error.data} label="Data" />
        </>
      )}
    </>
  );
}

function ResultView({
  result,
  source,
  outputSchema,
  onread,
}: {
  result: JsonObject;
  source: string | undefined;
  outputSchema: unknown;
  onread?: ((uri: string) => void) | undefined;
}): JSX.Element {
  const { content, contents, messages, structuredContent, isError, description } = result;
  const isKnown = Array.isArray(content) || Array.isArray(contents) || Array.isArray(messages);
  return (
    <>
      {isError === true && <p class="notice bad">The tool reported an error (isError).</p>}
      {typeof description === 'string' && (
        <p>
          <Visible text={description} lines />
        </p>
      )}
      {structuredContent !== undefined && (
        <>
          <h4>Structured content</h4>
          <JsonView
            value={structuredContent}
            text={source && memberText(source, 'structuredContent')}
            label="Structured content"
          />
        </>
      )}
      {isObject(outputSchema) && isError !== true && <OutputCheck schema={outputSchema} value={structuredContent} />}
      {Array.isArray(content) && (
        <Portions items={content as unknown[]} portion={contentPortion}>
          {(block, at) => <Content key={at} block={block} onread={onread} />}
        </Portions>
      )}
      {Array.isArray(content) && content.length === 0 && structuredContent === undefined && (
        <p class="soft">The result has no content.</p>
      )}
      {Array.isArray(contents) && contents.length === 0 && <p class="soft">The resource has no contents.</p>}
      {Array.isArray(contents) && (
        <Portions items={contents as unknown[]} portion={contentPortion}>
          {(each, at) => (
            <figure class="content" key={at}>
              {isObject(each) ? <ResourceContents contents={each} /> : <JsonView value={each} label="Contents" />}
            </figure>
          )}
        </Portions>
      )}
      {Array.isArray(messages) && (
        <Portions items={messages as unknown[]} portion={contentPortion}>
          {(message, at) => <MessageView key={at} message={message} onread={onread} />}
        </Portions>
      )}
      {!isKnown && structuredContent === undefined && <JsonView value={result} text={source} label="Result" />}
      {isKnown && (
        <Disclosure title="Whole result">{() => <JsonView value={result} text={source} label="Result" />}</Disclosure>
      )}
    </>
  );
}

/** A message of a prompt, or to a model. */
export function MessageView({
  message,
  onread,
}: {
  message: unknown;
  onread?: ((uri: string) => void) | undefined;
}): JSX.Element {
  if (!isObject(message)) return <JsonView value={message} label="Message" />;
  const content: unknown = message['content'];
  return (
    <section class="message">
      <h4>
        <Visible text={textOf(message['role']) ?? 'No role'} />
      </h4>
      <Portions items={Array.isArray(content) ? (content as unknown[]) : [content]} portion={contentPortion}>
        {(block, at) => <Content key={at} block={block} onread={onread} />}
      </Portions>
    </section>
  );
}

/** Says whether the structured content is what the tool declares. */
function OutputCheck({ schema, value }: { schema: JsonObject; value: unknown }): JSX.Element {
  const problem = useMemo(() => outputProblem(schema, value), [schema, value]);
  if (problem === undefined) return <p class="good">The structured content matches the tool’s outputSchema.</p>;
  return (
    <p class="notice warn">
      <Visible text={problem} />
    </p>
  );
}
