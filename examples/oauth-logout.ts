import { FileTokenStore, logOut } from 'everwire/auth';

/** Logs the user out. @param tokens the folder of the token store. */
export async function signOut(server: string, tokens: string): Promise<void> {
  for (const { issuer, error } of await logOut({ server, store: new FileTokenStore(tokens) })) {
    if (error) console.error(`${issuer} has not revoked all tokens: ${error.message}`);
  }
}
