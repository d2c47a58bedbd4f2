import { render } from 'preact';
import { App } from './app.tsx';
import { Server } from './server/server.ts';
import { sessionKey } from './server/session-key.ts';
import { applyTheme } from './ui/color-theme.ts';
import { Wire } from './wire/wire.ts';

applyTheme();
const root = document.getElementById('app')!;
try {
  const server = new Server(await sessionKey());
  render(<App server={server} wire={new Wire(server)} />, root);
} catch (error) {
  render(
    <main class="empty" role="alert">
      {(error as Error).message}
    </main>,
    root,
  );
}
