import { vi } from 'vitest';

/** Milliseconds, as for `expect.poll` in `vitest.config.ts`: only what hangs takes so long. */
const TIMEOUT = 30_000;

type Options = Parameters<typeof vi.waitFor>[1];

const patient = (options: Options): Options =>
  typeof options === 'number' ? options : { timeout: TIMEOUT, ...options };

const { waitFor, waitUntil } = vi;

/** Without a timeout of their own, these give up after a second. The configuration of Vitest cannot change that. */
const patientWaits: Pick<typeof vi, 'waitFor' | 'waitUntil'> = {
  waitFor: (callback, options) => waitFor(callback, patient(options)),
  waitUntil: (callback, options) => waitUntil(callback, patient(options)),
};
Object.assign(vi, patientWaits);
