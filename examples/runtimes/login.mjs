import { oauth, pageRedirect, popupRedirect, WebTokenStore } from 'everwire/auth';
import { connect } from 'everwire/client';

const store = new WebTokenStore(sessionStorage);

/** Logs the user in in a window of its own. Call it in a click. */
export function connectWithPopup(server, client) {
  const redirect = popupRedirect(new URL('/callback.html', location.href).href);
  return connect(server, { authorizer: oauth({ server, client, store, redirect }) });
}

/** Leaves the page for the login. Call it again when the page is back: then it connects. */
export function connectWithRedirect(server, client) {
  const redirect = pageRedirect(new URL('/', location.href).href);
  return connect(server, { authorizer: oauth({ server, client, store, redirect }) });
}
