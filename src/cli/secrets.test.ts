import { describe, expect, test } from 'vitest';
import { secretsOf } from './secrets.ts';

const VALUE = 's3cret-0123456789';

function ofVariable(name: string, value = VALUE): string[] {
  return secretsOf({ kind: 'command', env: { [name]: value } });
}

describe('among variables', () => {
  test.each([
    ...['API_KEY', 'GITHUB_TOKEN', 'CLIENT_SECRET', 'DB_PASSWORD', 'DB_PASS', 'SSH_PASSPHRASE', 'PGPASSWORD'],
    ...['MYSQL_PWD', 'GITHUB_PAT', 'PAT', 'SENTRY_DSN', 'SESSION_COOKIE', 'COOKIE', 'BASIC_AUTH', 'BEARER'],
    ...['GOOGLE_CREDENTIALS', 'AZURE_STORAGE_CONNECTION_STRING', 'AZURE_SAS', 'JWT', 'TLS_PEM', 'PRIVATE_SIDE'],
    ...['SLACK_WEBHOOK', 'TOTP_SEED', 'apiKey', 'service.otp', 'DB_PW1'],
  ])('%s is a secret', (name) => {
    expect(ofVariable(name)).toContain(VALUE);
  });

  test.each([
    'PATH',
    'PYTHONPATH',
    'COMPATIBLE',
    'LANGUAGE',
    'SHIPPING',
    'NODE_EXTRA_CA_CERTS',
    'NODE_ENV',
    'DATABASE',
    'SIDE',
  ])('%s is not a secret', (name) => {
    expect(ofVariable(name)).toEqual([]);
  });

  test('the password in a URL is a secret, whatever its name', () => {
    expect(ofVariable('DATABASE_URL', 'postgres://ada:p%40ss-word-1@db.example/shop')).toEqual([
      'p%40ss-word-1',
      'p@ss-word-1',
    ]);
    expect(ofVariable('DATABASE_URL', 'postgres://ada:p%zz-word-1@db.example/shop')).toEqual(['p%zz-word-1']);
    expect(ofVariable('DATABASE_URL', 'postgres://ada:short@db.example/shop')).toEqual([]);
    expect(ofVariable('DATABASE_URL', 'postgres://db.example:54321234/shop@here')).toEqual([]);
  });

  test('a value of a few letters is not a secret', () => {
    expect(ofVariable('API_KEY', 'short')).toEqual([]);
  });
});

test.each([
  [[`--api-key=${VALUE}`], [VALUE]],
  [['serve', '--token', VALUE, 'main'], [VALUE]],
  [['run', '-e', `API_KEY=${VALUE}`, 'image'], [VALUE]],
  [[`--env=API_KEY=${VALUE}`], [VALUE]],
  [['--header', `X-Api-Key: ${VALUE}`], [VALUE]],
  [['--header', `X-Api-Key:${VALUE}`], [VALUE]],
  [['-v', 'keys:/home/ada/keys', '--mount=auth:/var/lib/auth', 'token-server:8080'], []],
  [[`--db=postgres://ada:${VALUE}@db.example/shop`], [VALUE]],
  [['--no-auth', 'production', '--author', 'Jane Austen'], []],
  [['--token', 'short'], []],
  [['--name', VALUE, VALUE], []],
  [[`postgres://ada:${VALUE}@db.example/shop`], [VALUE]],
])('the secrets in the arguments %j', (args, secrets) => {
  expect([...new Set(secretsOf({ kind: 'command', env: {}, args }))]).toEqual(secrets);
});

test('all header values are secrets, with and without their scheme', () => {
  const headers = { Authorization: `Bearer ${VALUE}`, 'X-Team': 'blue-and-red', 'X-Few': 'few' };
  const server = { kind: 'url', name: 'mine', url: 'https://a.example', headers, tools: {} } as const;
  expect(secretsOf(server).toSorted()).toEqual([`Bearer ${VALUE}`, 'blue-and-red', 'blue-and-red', VALUE].toSorted());
});
