// #region oauth
import { loopbackRedirect, oauth } from 'everwire/auth';
import { connect, type Client } from 'everwire/client';

/** Connects as a user. `open` shows the URL of the login to the user. */
export function connectAsUser(url: string, open: (login: URL) => void): Promise<Client> {
  const authorizer = oauth({
    server: url,
    redirect: loopbackRedirect({ title: 'Reader', open: async (login) => open(login) }),
    clientMetadata: { client_name: 'Reader' },
  });
  return connect(url, { authorizer });
}
// #endregion oauth
