import { programs } from '../support/process.ts';
import { matrix } from './matrix.ts';
import { demo } from './peers.ts';
import { bridged, serveBoth } from './servers.ts';

matrix('demo', demo, () =>
  serveBoth([...programs.everwire, 'demo', '--port', '0'], [...programs.everwire, 'demo', '--stdio']),
);

const { http, stdio } = bridged([...programs.everwire, 'demo', '--stdio']);
matrix('a bridge to the demo', demo, () => serveBoth(http, stdio));
