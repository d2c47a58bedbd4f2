import { connect, type PeerCertificate } from 'node:tls';
import { isIP } from 'node:net';
import { printableLine } from '../base/printable.ts';
import { proxyFor } from '../transport/http/client/proxy.ts';

/** How long a server may take to show its certificate, in milliseconds. */
const TIMEOUT = 3000;

/**
 * Describes a server's certificate to the user: whom it names, who signed it and until when it is valid. Sends no
 * request to the server. Undefined if there is no way to get it, for example through a proxy.
 */
export async function certificateOf(url: URL): Promise<string | undefined> {
  if (await proxyFor(url)) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const certificate = await new Promise<PeerCertificate | undefined>((resolve) => {
    const socket = connect({
      ...{ host, port: Number(url.port || 443), timeout: TIMEOUT },
      servername: isIP(host) === 0 ? host : '',
      // The connection only shows the certificate, and carries nothing.
      rejectUnauthorized: false,
    });
    const done = (found?: PeerCertificate): void => {
      resolve(found);
      socket.destroy();
    };
    socket.once('secureConnect', () => done(socket.getPeerCertificate()));
    socket.once('timeout', () => done());
    socket.once('error', () => done());
  });
  return certificate?.subject && described(certificate);
}

function described({ subject, issuer, subjectaltname: names, valid_to: end }: PeerCertificate): string {
  const self = JSON.stringify(subject) === JSON.stringify(issuer);
  const forNames = names === undefined ? '' : ` for ${names}`;
  const by = self ? 'signed by itself' : `issued by ${nameOf(issuer)}`;
  return printableLine(`The certificate of ${nameOf(subject)}${forNames} is ${by} and valid until ${end}.`);
}

/** The common name, or all other names if there is none. */
function nameOf(holder: PeerCertificate['subject']): string {
  return [holder.CN].flat().join(', ') || Object.values(holder).flat().join(', ') || 'nobody';
}
