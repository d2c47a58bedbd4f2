import { server } from './everwire-server.ts';
import { ready } from './host.ts';

const { url } = await server.listen({ port: 0 });
ready(url);
