import { PREFIX, type Commands } from './commands.ts';
import { CHECK, OF_KEYS } from './permission-script.ts';

/** The keys of a state, as in a rule for a user of Redis. */
export const KEYS = `{${PREFIX}}*`;

/**
 * Checks that the user of a client may run all commands of a state.
 *
 * @throws Error that names what the user lacks, or why Redis refuses scripts. StoreUnreachable.
 */
export async function checkPermissions(commands: Commands): Promise<void> {
  const lacking = (await commands.run(CHECK, ...OF_KEYS)) as string[];
  if (lacking.length > 0) throw new Error(`the user of Redis may not run ${lacking.join(', ')}`);
}
