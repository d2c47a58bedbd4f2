import { apiKeyAuth } from 'everwire/auth';

const { ADA_KEY = '', ROBOT_KEY = '' } = process.env;

export const auth = apiKeyAuth({
  keys: {
    [ADA_KEY]: { principal: 'ada', scopes: ['notes:read', 'notes:write'] },
    [ROBOT_KEY]: 'robot',
  },
});
