import { programs } from '../support/process.ts';
import { matrix } from './matrix.ts';
import { featureServer } from './peers.ts';
import { bridged, serveBoth } from './servers.ts';

matrix('feature server', featureServer, () =>
  serveBoth([...programs.features, '--port', '0'], [...programs.features, '--stdio']),
);

const { http, stdio } = bridged([...programs.features, '--stdio']);
matrix('a bridge to the feature server', featureServer, () => serveBoth(http, stdio));
