/** An entry of the sidebar: a page, or a group of them. */
export interface Entry {
  readonly text: string;
  /** The path from `docs`. */
  readonly page?: string;
  /** If the group has a page itself, they are hidden until the reader is in the group. */
  readonly items?: readonly Entry[];
}

/** The sidebar. Each page of `docs` is in it once; only the home page is not. */
export const navigation: readonly Entry[] = [
  {
    text: 'Start',
    items: [
      { text: 'How it works', page: 'how-it-works.md' },
      { text: 'A server', page: 'start/server.md' },
      { text: 'A client', page: 'start/client.md' },
      { text: 'A bridge', page: 'start/bridge.md' },
    ],
  },
  {
    text: 'Server',
    items: [
      { text: 'Server guide', page: 'guide.md' },
      { text: 'Mounting a server', page: 'guides/mounting.md' },
      { text: 'From a laptop to production', page: 'guides/production.md' },
      { text: 'Authorization', page: 'authorization.md' },
      { text: 'Tasks', page: 'tasks.md' },
      { text: 'Testing a server', page: 'guides/testing.md' },
    ],
  },
  {
    text: 'Client',
    items: [
      { text: 'Client guide', page: 'client.md' },
      { text: 'Client authorization', page: 'client-authorization.md' },
    ],
  },
  {
    text: 'Bridge',
    items: [
      { text: 'Bridge guide', page: 'bridge.md' },
      { text: 'Many servers behind one bridge', page: 'bridge-fleet.md' },
      { text: 'Translation between revisions', page: 'bridge-translation.md' },
    ],
  },
  {
    text: 'Tools',
    items: [
      { text: 'Command line', page: 'cli.md' },
      { text: 'Inspector', page: 'inspector.md' },
      { text: 'Breakpoints', page: 'breakpoints.md' },
      { text: 'MCP Apps', page: 'apps.md' },
      { text: 'Checking a server', page: 'check.md' },
      { text: 'Authorization step by step', page: 'authorization-steps.md' },
      { text: 'Recordings', page: 'mcpcap.md' },
      { text: 'Mocking a server', page: 'mock.md' },
      { text: 'Comparing servers', page: 'replay.md' },
      { text: 'Exporting a recording', page: 'export.md' },
    ],
  },
  {
    text: 'Production and platforms',
    items: [
      { text: 'Operating', page: 'operating.md' },
      { text: 'Several processes, one Redis', page: 'cluster.md' },
      { text: 'Docker', page: 'guides/docker.md' },
      { text: 'Runtimes', page: 'runtimes.md' },
      { text: 'MCP hosts', page: 'hosts.md' },
      { text: 'Other languages', page: 'interop.md' },
      { text: 'Windows and macOS', page: 'windows-macos.md' },
    ],
  },
  {
    text: 'Problems',
    items: [
      { text: 'Troubleshooting', page: 'troubleshooting.md' },
      { text: 'Errors', page: 'errors.md' },
    ],
  },
  {
    text: 'Moving from',
    items: [
      { text: 'The official SDK 1.x', page: 'moving/official-sdk-1.md' },
      { text: 'The official SDK 2.x', page: 'moving/official-sdk-2.md' },
      { text: 'FastMCP', page: 'moving/fastmcp.md' },
      { text: 'mcp-remote', page: 'moving/mcp-remote.md' },
      { text: 'mcp-proxy', page: 'moving/mcp-proxy.md' },
      { text: 'supergateway', page: 'moving/supergateway.md' },
    ],
  },
  {
    text: 'Reference',
    items: [
      {
        text: 'API',
        page: 'api/README.md',
        items: [
          { text: 'everwire', page: 'api/everwire.md' },
          { text: 'everwire/server', page: 'api/server.md' },
          { text: 'everwire/client', page: 'api/client.md' },
          { text: 'everwire/auth', page: 'api/auth.md' },
          { text: 'everwire/http', page: 'api/http.md' },
          { text: 'everwire/stdio', page: 'api/stdio.md' },
          { text: 'everwire/memory', page: 'api/memory.md' },
          { text: 'everwire/bridge', page: 'api/bridge.md' },
          { text: 'everwire/operate', page: 'api/operate.md' },
          { text: 'everwire/store', page: 'api/store.md' },
          { text: 'everwire/workers', page: 'api/workers.md' },
          { text: 'everwire/inspect', page: 'api/inspect.md' },
          { text: 'everwire/lint', page: 'api/lint.md' },
          { text: 'everwire/testing', page: 'api/testing.md' },
          { text: 'everwire/testing/contracts', page: 'api/testing-contracts.md' },
        ],
      },
      {
        text: 'Specification ledger',
        page: 'ledger.md',
        items: [
          { text: '2026-07-28', page: 'ledger/2026-07-28.md' },
          { text: '2025-11-25', page: 'ledger/2025-11-25.md' },
          { text: '2025-06-18', page: 'ledger/2025-06-18.md' },
          { text: '2025-03-26', page: 'ledger/2025-03-26.md' },
          { text: '2024-11-05', page: 'ledger/2024-11-05.md' },
        ],
      },
      { text: 'Performance', page: 'performance.md' },
      { text: 'Changelog', page: 'changelog.md' },
    ],
  },
  {
    text: 'The project',
    items: [
      { text: 'Design', page: 'design.md' },
      { text: 'Testing of the project', page: 'testing.md' },
    ],
  },
];
