import { missingResourceBehindBridge } from './findings.ts';
import { REPORTED, type Language, type Row } from './language.ts';
import { bridgedRows, clientRows, serverRows } from './rows.ts';
import { kotlinProgram } from './toolchains.ts';

/** It does not have 2026-07-28 yet, and its client asks for 2025-11-25. */
const has = ({ revision }: Row): boolean => revision < '2026-07-28';

export const kotlinSdk: Language = {
  toolchain: 'Kotlin',
  name: 'Kotlin SDK 0.16.0',
  server: (way) => [...kotlinProgram('Server'), `--${way}`],
  client: kotlinProgram('Client', '-Dkotlin-logging.logStartupMessage=false'),
  rows: [...serverRows, ...clientRows, ...bridgedRows('http', 'stdio')].filter(has),
  tasks: false,
  findings: [
    missingResourceBehindBridge,
    {
      what: 'a server over stdio starts with a line of its logging library on stdout',
      rule: 'a server must not write anything else than messages to stdout',
      ours: 'The client and the bridge report the line, and read on.',
      features: [REPORTED],
      rows: ({ peer, way, across }) => peer === 'server' && way === 'stdio' && across === undefined,
      fails: /not valid JSON/,
    },
    {
      what: 'a server does not check the arguments of a call: its handler gets them as they are',
      rule: 'a server must validate the arguments',
      ours: 'Nothing: the result of the handler is passed on.',
      features: ['invalid arguments'],
      rows: ({ peer }) => peer === 'server',
      fails: /Error executing tool add/,
    },
    {
      what: 'a server without sessions does not send progress',
      rule: 'progress is optional',
      ours: 'Nothing.',
      features: ['progress'],
      rows: ({ peer, way }) => peer === 'server' && way === 'stateless',
      fails: /to deeply equal \[ 1, 2, 3, 4, 5 \]/,
    },
    {
      what: 'a client over HTTP reads the events of a call only when the call has ended, so a question waits forever',
      rule: 'a server may send questions and notifications before the response, in the same stream',
      ours: 'Nothing: the server waits for the answer until its time limit.',
      features: ['cancel', 'sampling', 'elicitation', 'elicitation by URL', 'roots'],
      rows: ({ peer, way }) => peer === 'client' && way === 'http',
      fails: /no end within three seconds/,
    },
  ],
};
