import { server } from './tools.ts';

export default { fetch: (request: Request) => server.fetch(request) };
