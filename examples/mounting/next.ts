import { server } from './next-server.ts';

const handle = (request: Request): Promise<Response> => server.fetch(request);

export { handle as DELETE, handle as GET, handle as OPTIONS, handle as POST };
