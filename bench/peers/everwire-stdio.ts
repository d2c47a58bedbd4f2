import { server } from './everwire-server.ts';

await server.stdio();
