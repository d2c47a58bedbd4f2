import { MIN_SECRET } from './single-search.ts';

/** The value of a header or a variable, the part after a scheme such as `Bearer`, and the password of `Basic`. */
export function secretsIn(value: string): string[] {
  const secrets = [value, value.replace(/^\S+\s+/, ''), ...basicPasswordIn(value)];
  return secrets.filter((secret) => secret.length >= MIN_SECRET);
}

/** `Basic YWRhOnBhc3N3b3Jk`: the text that it encodes, and the password in it (RFC 7617, section 2). */
function basicPasswordIn(value: string): string[] {
  const encoded = /^basic\s+(\S+)$/i.exec(value)?.[1];
  if (encoded === undefined) return [];
  const credentials = Buffer.from(encoded, 'base64').toString();
  return [credentials, credentials.slice(credentials.indexOf(':') + 1)];
}
