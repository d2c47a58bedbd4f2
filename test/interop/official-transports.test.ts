import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { programs } from '../support/process.ts';
import { featureServer } from '../support/features.ts';
import { matrix } from './matrix.ts';
import { featureServer as peer } from './peers.ts';

/** Our server on the transports of the official SDK. */
const target = {
  stdio: [...programs.features, '--official-stdio'],
  url: '',
  sseUrl: '',
  memory: async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await featureServer().connect(ours);
    return theirs;
  },
};

matrix('our server on official transports', peer, async () => ({ target, stop: async () => {} }), {
  clients: ['sdk 1.x'],
  transports: ['stdio', 'memory'],
});

matrix('our server on official transports, without a handshake', peer, async () => ({ target, stop: async () => {} }), {
  clients: ['client 2.x auto', 'client 2.x modern'],
  transports: ['stdio'],
});
