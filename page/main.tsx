import { render } from 'preact';
import { App } from './app.tsx';
import { Server } from './server/server.ts';
import { sessionKey } from './server/session-key.ts';

const root = document.getElementById('app')!;
try {
  render(<App server={new Server(await sessionKey())} />, root);
} catch (error) {
  render(<p role="alert">{(error as Error).message}</p>, root);
}
