import { server } from './protected.ts';

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/api/mcp') return server.fetch(request);
    if (pathname.startsWith('/.well-known/oauth-protected-resource')) return server.fetch(request);
    return new Response('Not found', { status: 404 });
  },
};
