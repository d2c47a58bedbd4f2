import { describe } from 'vitest';
import { bridgeProgram } from '../interop/bridge-matrix/program.ts';
import { matrix } from '../interop/matrix.ts';
import { featureServer } from '../interop/peers.ts';
import { listening, programs, startProgram } from '../support/process.ts';
import { runtimes } from './runtime.ts';

/** `everwire bridge` on another runtime, with official clients and servers on Node. */
describe.each(runtimes)('a bridge on $name', ({ name, command }) => {
  describe.skipIf(command === undefined)('', () => {
    bridgeProgram(command);

    // The server is a child process on the same runtime.
    const [program, ...args] = command ?? [''];
    const bridge = (...way: string[]): string[] => [
      ...[...args, ...programs.everwire, 'bridge', ...way],
      ...['--', program!, ...args, ...programs.features, '--stdio'],
    ];
    matrix(
      `${name}: a bridge to the feature server`,
      featureServer,
      async () => {
        const { url, sseUrl, stop } = await listening(startProgram(program!, bridge('--port', '0')));
        return { target: { program, stdio: bridge('--stdio'), url, sseUrl }, stop };
      },
      { clients: ['sdk 1.x', 'client 2.x modern'] },
    );
  });
});
