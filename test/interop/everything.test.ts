import { programs } from '../support/process.ts';
import { matrix } from './matrix.ts';
import { everything } from './peers.ts';
import { bridged, serveBoth } from './servers.ts';

const { http, stdio } = bridged(programs.everything);
matrix('a bridge to server-everything', everything, () => serveBoth(http, stdio));
