import { authorizedFetch, oauth } from 'everwire/auth';

const { SERVER = 'http://localhost:8000/mcp', CLIENT_SECRET = '' } = process.env;

export const authorizer = oauth({
  server: SERVER,
  clientCredentials: true,
  client: { clientId: 'reports', clientSecret: CLIENT_SECRET },
  scopes: ['notes:read'],
});

export const fetch = authorizedFetch(authorizer);
