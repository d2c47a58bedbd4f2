import { bridgeProgram } from './program.ts';

bridgeProgram();
