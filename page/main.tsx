import { render } from 'preact';
import { App } from './app.tsx';
import { StartProblem } from './start-problem.tsx';
import { Server } from './server/server.ts';
import { sessionKey } from './server/session-key.ts';
import { applyTheme } from './ui/color-theme.ts';
import { Wire } from './wire/wire.ts';

applyTheme();
// A URL with a new token that is opened in this tab changes only the fragment, and loads nothing.
addEventListener('hashchange', () => location.reload());
const root = document.getElementById('app')!;
try {
  const server = new Server(await sessionKey());
  render(<App server={server} wire={new Wire(server)} />, root);
} catch (error) {
  render(<StartProblem reason={(error as Error).message} />, root);
}
