import { expect, onTestFinished, test, vi } from 'vitest';
import { redisState } from './redis-state.ts';

test.each([
  [
    'throws',
    () => {
      throw new Error('thrown by onerror');
    },
  ],
  ['rejects', () => Promise.reject(new Error('thrown by onerror'))],
])('heartbeats and reads go on if onerror %s when Redis refuses commands', async (_, onerror) => {
  const write = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => write.mockRestore());
  const refused = new Error('OOM command not allowed');
  const commands: string[] = [];
  const client = (name: string) => ({
    sendCommand: ([command]: string[]): Promise<unknown> => {
      commands.push(`${name} ${command}`);
      return Promise.reject(refused);
    },
  });
  const bus = { reader: client('reader'), stateKey: 'a key of at least 16 bytes', onerror };
  const state = redisState(client('client'), { bus });
  onTestFinished(() => state.close());
  await vi.waitFor(() => expect(write).toHaveBeenCalledWith(expect.stringContaining('thrown by onerror')));
  const before = commands.length;
  const later = (): string[] => commands.slice(before);
  await vi.waitFor(() => expect(later()).toContain('reader XREAD'));
  await vi.waitFor(() => expect(later().some((command) => command.startsWith('client'))).toBe(true));
});
