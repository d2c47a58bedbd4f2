import { isPeerUrl, peerUrl } from '../../base/peer-url.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { missingCapability } from '../../protocol/capabilities.ts';
import { CAN_REQUIRE_INPUT, Method, QUESTIONS } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { checkMessages } from '../../protocol/sampling-rules.ts';
import { clauses, onPage } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { onEvent, type Outcome, type WireRule } from '../rule.ts';
import { targetOf } from '../model/messages.ts';
import { first } from './first.ts';
import { mismatch } from './mismatch.ts';
import { shown } from './shown.ts';
import { isUri } from './uri.ts';

/** A question of a server: a request of its own, or a member of an `input_required` result. */
interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** An answer of a client, and the question that it answers. */
interface Answer {
  readonly question: Question;
  readonly answer: JsonObject;
}

/** Names of fields that ask for secrets. */
const SECRET =
  /pass(?:word|phrase|code)|secret|api_?key|access_?token|credential|private_?key|credit_?card|\bcvv\b|\bssn\b/i;

/** Elicitation, sampling and roots. */
export const QUESTION_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'question-undeclared',
    area: 'questions',
    severity: 'error',
    clauses: clauses(
      'basic/lifecycle 14; client/roots 1,17; client/sampling 5',
      'basic/lifecycle 15; client/roots 1,17; client/sampling 5',
      'basic/lifecycle 15; client/roots 1,17; client/sampling 5; client/elicitation 5',
      'basic/lifecycle 15; client/roots 1,17; client/sampling 5,6,7; client/elicitation 7,9',
      'basic/index 54; basic/patterns/mrtr 13,14; client/roots 16; client/sampling 8; client/elicitation 9',
    ),
    right: 'A server asks only questions for which the client has declared the capability.',
    check: (event) =>
      eachQuestion(event, ({ method, params }) => {
        const { clientCapabilities, revisions } = event;
        if (clientCapabilities === undefined || revisions.length > 1) return undefined;
        const missing = missingCapability(method, params, clientCapabilities, profileOf(revisions[0]!)!);
        return missing === undefined || `${method}, and the client did not declare ${missing}`;
      }),
  }),
  onEvent('message', {
    id: 'input-required-method',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 4' },
    right: 'Only `tools/call`, `prompts/get` and `resources/read` are answered with `input_required`.',
    check: ({ kind, from, about, result: { resultType } }) =>
      kind === 'result' && from === 'server' && about && resultType === 'input_required'
        ? CAN_REQUIRE_INPUT.has(about.method) || `input_required for ${about.method}`
        : undefined,
  }),
  onEvent('message', {
    id: 'input-required-empty',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 12' },
    right: 'An `input_required` result has questions, a state, or both.',
    check: ({ kind, from, result: { resultType, inputRequests, requestState } }) =>
      kind === 'result' && from === 'server' && resultType === 'input_required'
        ? inputRequests !== undefined || requestState !== undefined || 'neither inputRequests nor requestState'
        : undefined,
  }),
  onEvent('message', {
    id: 'input-request-kind',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 6' },
    right: 'A question is an elicitation, a sampling or a roots request.',
    inSchema: true,
    check: ({ kind, from, result: { resultType, inputRequests } }) => {
      if (kind !== 'result' || from !== 'server' || resultType !== 'input_required' || !isObject(inputRequests))
        return undefined;
      const wrong = Object.values(inputRequests).find(
        (each) => !isObject(each) || typeof each['method'] !== 'string' || !QUESTIONS.has(each['method']),
      );
      return wrong === undefined || `the question ${shown(wrong)}`;
    },
  }),
  onEvent('message', {
    id: 'request-state-unknown',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 17,19' },
    right: 'A client sends only a `requestState` that it got from the server, unchanged.',
    check: ({ kind, from, params: { requestState }, conversation }) => {
      if (kind !== 'request' || from !== 'client' || typeof requestState !== 'string' || conversation.isShared)
        return undefined;
      return conversation.states.mayHave(requestState) || `the state ${shown(requestState)}`;
    },
  }),
  onEvent('message', {
    id: 'request-state-other',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 21' },
    right: 'A client sends answers and a `requestState` only when it repeats the request that led to the questions.',
    check: ({ kind, from, method, params, conversation }) => {
      const round = kind === 'request' && from === 'client' ? conversation.roundOf(params['requestState']) : undefined;
      if (!round) return undefined;
      const isSame = round.method === method && round.target === targetOf(params);
      return isSame || `the state of ${round.method} ${shown(round.target)} in ${method} ${shown(targetOf(params))}`;
    },
  }),
  onEvent('message', {
    id: 'retry-id',
    area: 'questions',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/patterns/mrtr 20; server/tools 10' },
    right: 'A request that is repeated with answers has a new id.',
    check: ({ kind, from, params, sameId, conversation, message }) => {
      const isRetry = params['inputResponses'] !== undefined || params['requestState'] !== undefined;
      if (kind !== 'request' || from !== 'client' || !isRetry || conversation.isShared) return undefined;
      return sameId?.answered === undefined || `the id ${shown(message['id'])} again`;
    },
  }),
  onEvent('message', {
    id: 'elicitation-url',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 15', 'client/elicitation 15'),
    right: 'The URL of an elicitation is valid.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { mode, url } }) =>
        method === Method.Elicit && mode === 'url' && typeof url === 'string'
          ? isPeerUrl(url) || `the URL ${shown(url)}`
          : undefined,
      ),
  }),
  onEvent('message', {
    id: 'elicitation-url-https',
    area: 'questions',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 43', 'client/elicitation 35'),
    right: 'The URL of an elicitation uses HTTPS, except in development.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { mode, url } }) => {
        const asked = method === Method.Elicit && mode === 'url' && typeof url === 'string' ? peerUrl(url) : undefined;
        if (!asked) return undefined;
        const { protocol, hostname } = asked;
        const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
        return protocol === 'https:' || isLocal || `the URL ${shown(url)}`;
      }),
  }),
  onEvent('message', {
    id: 'elicitation-url-credentials',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 40,41', 'client/elicitation 32,33'),
    right: 'The URL of an elicitation contains no credentials, such as a password or an access token.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { mode, url } }) => {
        const asked = method === Method.Elicit && mode === 'url' && typeof url === 'string' ? peerUrl(url) : undefined;
        if (!asked) return undefined;
        const { username, password, search } = asked;
        return (
          (username === '' && password === '' && !/[?&](access_token|api_?key|password)=/i.test(search)) ||
          'credentials in the URL'
        );
      }),
  }),
  onEvent('message', {
    id: 'elicitation-form-secret',
    area: 'questions',
    severity: 'advice',
    clauses: onPage('client/elicitation', [undefined, undefined, '1,6', '1,54', '1,46']),
    right: 'A form does not ask for passwords or other secrets.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { requestedSchema } }) => {
        if (method !== Method.Elicit || !isObject(requestedSchema)) return undefined;
        const fields = Object.keys(isObject(requestedSchema['properties']) ? requestedSchema['properties'] : {});
        const secret = fields.find((field) => SECRET.test(field));
        return secret === undefined || `the field ${shown(secret)}`;
      }),
  }),
  onEvent('message', {
    id: 'elicitation-form-link',
    area: 'questions',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 42', 'client/elicitation 34'),
    right: 'A form has no URLs to click on.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { mode, message } }) =>
        method === Method.Elicit && mode !== 'url' && typeof message === 'string'
          ? !/https?:\/\//i.test(message) || `the message ${shown(message)}`
          : undefined,
      ),
  }),
  onEvent('message', {
    id: 'elicitation-answer',
    area: 'questions',
    severity: 'warning',
    clauses: onPage('client/elicitation', [undefined, undefined, '8', '55']),
    right: "The content of an accepted form matches the form's schema.",
    check: ({ kind, from, about, result }) => {
      const schema: unknown = about?.params?.['requestedSchema'];
      if (kind !== 'result' || from !== 'client' || about?.method !== Method.Elicit || !isObject(schema))
        return undefined;
      return result['action'] === 'accept' ? (mismatch(schema, result['content'] ?? {}) ?? true) : undefined;
    },
  }),
  onEvent('message', {
    id: 'elicitation-complete-unknown',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 17'),
    right: 'A completion notification has the id of an elicitation by URL.',
    check: ({ from, method, params: { elicitationId }, conversation }) =>
      from === 'server' &&
      method === 'notifications/elicitation/complete' &&
      typeof elicitationId === 'string' &&
      !conversation.isShared
        ? conversation.elicitations.mayHave(elicitationId) || `the id ${shown(elicitationId)}`
        : undefined,
  }),
  onEvent('message', {
    id: 'url-required-error',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/elicitation 20,21,22,32'),
    right: 'The error −32042 lists elicitations of mode `url`, each with an id.',
    inSchema: true,
    check: ({ kind, error }) => {
      if (kind !== 'error' || error['code'] !== -32042) return undefined;
      const listed: unknown = isObject(error['data']) ? error['data']['elicitations'] : undefined;
      const isRight =
        Array.isArray(listed) &&
        listed.length > 0 &&
        listed.every((each) => isObject(each) && each['mode'] === 'url' && typeof each['elicitationId'] === 'string');
      return isRight || `the data ${shown(error['data'])}`;
    },
  }),
  onEvent('message', {
    id: 'sampling-context-undeclared',
    area: 'questions',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'client/sampling 8,9', 'client/sampling 10,11'),
    right:
      'A server sets `includeContext` to a value other than `none` only if the client declared `sampling.context`.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { includeContext } }) => {
        const { clientCapabilities } = event;
        if (method !== Method.CreateMessage || includeContext === undefined || includeContext === 'none')
          return undefined;
        const sampling: unknown = clientCapabilities?.['sampling'];
        if (!isObject(sampling)) return undefined;
        return sampling['context'] !== undefined || `"includeContext": ${shown(includeContext)}`;
      }),
  }),
  onEvent('message', {
    id: 'sampling-tool-results',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/sampling 10,11,20', 'client/sampling 12,13,24; schema 7'),
    right: 'Each message with tool uses is followed by one message with all their results, and nothing else.',
    check: (event) =>
      eachQuestion(event, ({ method, params: { messages } }) => {
        if (method !== Method.CreateMessage || !Array.isArray(messages)) return undefined;
        try {
          checkMessages(messages);
          return true;
        } catch (error) {
          return (error as Error).message;
        }
      }),
  }),
  onEvent('message', {
    id: 'sampling-tool-choice',
    area: 'questions',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'client/sampling 12,13', 'client/sampling 14,15'),
    right: 'With the tool choice `required` the answer uses a tool, and with `none` it uses none.',
    check: (event) =>
      first(answersOf(event), ({ question: { method, params }, answer }) => {
        const mode: unknown = params['toolChoice']?.mode;
        if (method !== Method.CreateMessage || (mode !== 'required' && mode !== 'none')) return undefined;
        const content = [answer['content']].flat() as unknown[];
        const uses = content.some((each) => isObject(each) && each['type'] === 'tool_use');
        return (
          uses === (mode === 'required') || `the choice ${mode}, and an answer ${uses ? 'with' : 'without'} a tool use`
        );
      }),
  }),
  onEvent('message', {
    id: 'sampling-structured-content',
    area: 'questions',
    severity: 'warning',
    clauses: { '2026-07-28': 'schema 8' },
    right: "The structured content of a tool result in sampling matches the tool's output schema.",
    check: (event) =>
      eachQuestion(event, ({ method, params: { messages, tools } }) => {
        if (method !== Method.CreateMessage || !Array.isArray(messages) || !Array.isArray(tools)) return undefined;
        const blocks = messages.flatMap((each: unknown) => (isObject(each) ? blocksOf(each) : []));
        return first(blocks, ({ type, toolUseId, structuredContent, isError }) => {
          if (type !== 'tool_result' || structuredContent === undefined || isError === true) return undefined;
          const use = blocks.find((each) => each['type'] === 'tool_use' && each['id'] === toolUseId);
          const tool: unknown = use && tools.find((each: unknown) => isObject(each) && each['name'] === use['name']);
          if (!isObject(tool) || !isObject(tool['outputSchema'])) return undefined;
          const problem = mismatch(tool['outputSchema'], structuredContent);
          return problem === undefined ? true : `${shown(tool['name'])}: ${problem}`;
        });
      }),
  }),
  onEvent('message', {
    id: 'roots-file-uri',
    area: 'questions',
    severity: 'error',
    clauses: onPage('client/roots', ['3', '3', '3', '3', '4']),
    right: 'The URI of a root begins with `file://`.',
    check: ({ kind, from, about, result, params }) => {
      const answered = kind === 'result' && from === 'client' && about?.method === Method.ListRoots ? [result] : [];
      const sent = isObject(params['inputResponses']) ? Object.values(params['inputResponses']) : [];
      const roots = [...answered, ...sent].flatMap((each) =>
        isObject(each) && Array.isArray(each['roots']) ? each['roots'] : [],
      );
      if (roots.length === 0) return undefined;
      const wrong = roots.find((root: unknown) => isObject(root) && !isFileUri(root['uri']));
      return wrong === undefined || `the URI ${shown((wrong as JsonObject)['uri'])}`;
    },
  }),
];

function isFileUri(uri: unknown): boolean {
  return typeof uri === 'string' && uri.startsWith('file://') && isUri(uri);
}

/** The first outcome that says what is wrong with a question of the server. Undefined if there is none to judge. */
function eachQuestion(event: MessageEvent, check: (question: Question) => Outcome): Outcome {
  return first(questionsOf(event), check);
}

/** The answers of a client with their questions: its results, or the answers of 2026-07-28 whose state is known. */
function answersOf({ kind, from, about, params, result, conversation }: MessageEvent): readonly Answer[] {
  if (from !== 'client') return [];
  if (kind === 'result') {
    const question = { method: about?.method ?? '', params: about?.params ?? {} };
    return about ? [{ question, answer: result }] : [];
  }
  const given: unknown = params['inputResponses'];
  const asked = isObject(given) ? conversation.roundOf(params['requestState'])?.questions : undefined;
  if (!asked) return [];
  return Object.entries(given as JsonObject).flatMap(([key, answer]) => {
    const question: unknown = asked[key];
    return isObject(question) && isObject(answer) ? [{ question: questionOf(question), answer }] : [];
  });
}

function questionOf({ method, params }: JsonObject): Question {
  return { method: typeof method === 'string' ? method : '', params: isObject(params) ? params : {} };
}

/** The content blocks of a message. */
function blocksOf({ content }: JsonObject): readonly JsonObject[] {
  return [content].flat().filter(isObject);
}

function questionsOf({ from, kind, method, params, result }: MessageEvent): readonly Question[] {
  if (from !== 'server') return [];
  if (kind === 'request') return QUESTIONS.has(method) ? [{ method, params }] : [];
  const asked: unknown = result['inputRequests'];
  if (kind !== 'result' || !isObject(asked)) return [];
  return Object.values(asked).filter(isObject).map(questionOf);
}
