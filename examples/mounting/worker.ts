import { server } from './server.ts';

export default { fetch: (request: Request) => server.fetch(request) };
