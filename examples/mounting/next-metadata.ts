import { server } from './protected.ts';

const handle = (request: Request): Promise<Response> => server.fetch(request);

export { handle as GET, handle as OPTIONS };
