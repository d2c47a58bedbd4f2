import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Configuration } from 'oidc-provider';
import { bearerAuth } from '../../src/auth/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { startAuthorizationServer, type AuthorizationServer } from './oidc-provider.ts';

/** A server that requires a login, its authorization server, and a user with a browser that only records URLs. */
export interface ProtectedServer {
  readonly url: string;
  readonly authorization: AuthorizationServer;
  /** The user's folder, with the programs that open a browser. */
  readonly folder: string;
  /** The environment of the user's programs. */
  readonly environment: Record<string, string>;
  /** The URLs that were opened. */
  visited(): Promise<string[]>;
  close(): Promise<void>;
}

export async function startProtectedServer(configuration?: Configuration): Promise<ProtectedServer> {
  const authorization = await startAuthorizationServer('notes:read notes:write', configuration);
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const auth = bearerAuth({ resource: url, issuer: authorization.issuer, scopes: ['notes:read'] });
  const server = new McpServer({ name: 'notes', version: '1.0.0', http: { auth } });
  server.tool('who', {}, (_, { caller }) => `${caller.principal} ${caller.auth?.scopes.join(' ')}`);
  server.tool('write', { scopes: ['notes:write'] }, () => 'Written.');
  http.on('request', server.node);

  const folder = await mkdtemp(path.join(tmpdir(), 'everwire-login-'));
  for (const name of ['xdg-open', 'open']) {
    const file = path.join(folder, name);
    await writeFile(file, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${folder}/visited'\n`);
    await chmod(file, 0o755);
  }
  return {
    url,
    authorization,
    folder,
    environment: { PATH: `${folder}:${process.env['PATH']}`, XDG_DATA_HOME: folder, HOME: folder },
    visited: async () => {
      const text = await readFile(path.join(folder, 'visited'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    close: async () => {
      await server.close();
      http.closeAllConnections();
      await new Promise((resolve) => void http.close(resolve));
      await authorization.close();
      await rm(folder, { recursive: true });
    },
  };
}
