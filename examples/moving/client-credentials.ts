import { serve } from 'everwire';
import { oauth } from 'everwire/auth';
import { createBridge } from 'everwire/bridge';
import { stdioServerTransport } from 'everwire/stdio';

const { SERVER = 'http://localhost:8000/mcp', CLIENT_ID = 'reports', CLIENT_SECRET = '' } = process.env;

const authorizer = oauth({
  server: SERVER,
  clientCredentials: true,
  client: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
});
const bridge = createBridge({ target: SERVER, authorizer, anonymous: 'one-client' });
await serve(bridge.service, stdioServerTransport());
