import { ErrorCode } from '../../jsonrpc/errors.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { onPage } from '../../lint/clauses.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Meta } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { errorIn, isAccepted, resultIn, shown } from '../reply.ts';
import { broken, RIGHT, skipped } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { initializeParams, isAlive, metaOf } from '../session.ts';

/** A revision that never was. */
export const NO_REVISION = '1900-01-01';

/** The handshake, and what must not happen before and after it. */
export const LIFECYCLE_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'ping',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/utilities/ping', ['1', '1', '1', '1']),
    right: 'The server must answer a ping with an empty result.',
    probe: async (ground) => {
      const reply = await (await ground.session()).call('ping');
      const result = resultIn(reply);
      return result && Object.keys(result).every((key) => key === '_meta') ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'initialize-unknown-revision',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/lifecycle', ['10', '11', '10', '10']),
    right: 'The server must offer a revision that it supports to a client with an unknown revision.',
    probe: async (ground) => {
      const session = await ground.unopened();
      const reply = await session.call('initialize', initializeParams(NO_REVISION));
      const offered = resultIn(reply)?.['protocolVersion'];
      // Each revision has an example of an error for this, too.
      if (offered === undefined) return errorIn(reply) ? RIGHT : broken(shown(reply), reply.n);
      if (offered === NO_REVISION) return broken(`the server offered ${NO_REVISION}, which does not exist`, reply.n);
      return RIGHT;
    },
  },
  {
    id: 'initialize-newest-revision',
    area: 'lifecycle',
    severity: 'warning',
    clauses: onPage('basic/lifecycle', ['11', '12', '11', '11']),
    right: 'To a client with an unknown revision, the server should offer its newest revision with a handshake.',
    probe: async (ground) => {
      const session = await ground.unopened();
      const reply = await session.call('initialize', initializeParams(NO_REVISION));
      const offered: unknown = resultIn(reply)?.['protocolVersion'];
      if (typeof offered !== 'string' || profileOf(offered)?.era !== 'legacy')
        return skipped('the server offered no revision with a handshake');
      return offered >= ground.revision
        ? RIGHT
        : broken(`the server offered ${offered}, but it also speaks ${ground.revision}`, reply.n);
    },
  },
  {
    id: 'declared-capability-works',
    area: 'lifecycle',
    severity: 'error',
    clauses: onPage('basic/lifecycle', ['14', '15', '15', '15'], 'server/discover'),
    right: 'The server must know the methods of the capabilities that it declares.',
    probe: async (ground) => {
      const { lists } = ground;
      if (lists.length === 0) return skipped('the server declares no lists');
      const session = await ground.session();
      for (const capability of lists) {
        const reply = await session.call(`${capability}/list`);
        if (errorIn(reply)?.['code'] === ErrorCode.MethodNotFound)
          return broken(`it declares ${capability}, but to ${capability}/list, ${shown(reply)}`, reply.n);
      }
      return RIGHT;
    },
  },
  {
    id: 'request-before-initialize',
    area: 'lifecycle',
    severity: 'advice',
    clauses: onPage('basic/lifecycle', ['1', '1', '1', '1']),
    right: 'The server should refuse requests other than a ping before `initialize`.',
    over: 'stdio',
    probe: async (ground) => {
      const [capability] = ground.lists;
      if (capability === undefined) return skipped('the server has no lists');
      const session = await ground.unopened();
      const reply = await session.call(`${capability}/list`);
      return resultIn(reply) ? broken(`to ${capability}/list before initialize, ${shown(reply)}`, reply.n) : RIGHT;
    },
  },
  {
    id: 'initialize-twice',
    area: 'lifecycle',
    severity: 'advice',
    clauses: onPage('basic/lifecycle', ['1', '1', '1', '1']),
    right: 'The server should refuse a second `initialize` in a session, and the session should continue.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.call('initialize', initializeParams(ground.revision));
      if (!(await isAlive(session))) return broken('after that, the session did not answer the next request', reply.n);
      return isAccepted(reply) ? broken(shown(reply), reply.n) : RIGHT;
    },
  },
  {
    id: 'initialize-refused',
    area: 'lifecycle',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/versioning 8' },
    right: 'A server without handshakes should answer `initialize` with an error that lists its revisions.',
    probe: async (ground) => {
      if (ground.spoken.some((each) => profileOf(each)!.era === 'legacy'))
        return skipped('the server also speaks revisions with a handshake');
      const session = await ground.unopened();
      const reply = await session.say(
        JSON.stringify({ jsonrpc: '2.0', id: 'old', method: 'initialize', params: initializeParams('2025-11-25') }),
      );
      const data: unknown = errorIn(reply)?.['data'];
      return isObject(data) && Array.isArray(data['supported']) ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'unsupported-revision',
    area: 'lifecycle',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/versioning 1' },
    right:
      'The server must answer a request of an unsupported revision with −32022, and list the supported ones in `data.supported`.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.call(
        'server/discover',
        {},
        { meta: metaOf(NO_REVISION), headers: { 'mcp-protocol-version': NO_REVISION } },
      );
      const error = errorIn(reply);
      const supported: unknown = isObject(error?.['data']) ? error['data']['supported'] : undefined;
      const isRight = error?.['code'] === McpErrorCode.UnsupportedProtocolVersion && Array.isArray(supported);
      return isRight ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'meta-required',
    area: 'lifecycle',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 51' },
    right: 'The server must answer a request whose `_meta` lacks a required field with −32602.',
    probe: async (ground) => {
      const session = await ground.session();
      const { [Meta.ClientCapabilities]: _, ...meta } = metaOf(ground.revision);
      const reply = await session.call('server/discover', {}, { meta });
      return errorIn(reply)?.['code'] === ErrorCode.InvalidParams ? RIGHT : broken(shown(reply), reply.n);
    },
  },
];
