import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { compose } from '../core/exchange.ts';
import type { ListenOptions } from '../transport/http/server/listen.ts';
import { breakpointsFor, httpFaults, interception } from './breakpoints.ts';
import { inboundTo } from './bridge-mounts.ts';
import type { DevFlags } from './dev-options.ts';
import { Reloading } from './dev/reloading.ts';
import { Failure, reportFailure } from './failure.ts';
import { keepInputs } from './keep-input.ts';
import { printStatus } from './print-status.ts';
import { run } from './run.ts';
import { atEnd, stop } from './shutdown.ts';

/** `everwire dev`: serves the server of a file, and reloads it when the file changes. */
export async function dev(given: string, flags: DevFlags): Promise<void> {
  const file = path.resolve(given);
  if (!existsSync(file)) throw Failure.usage(`there is no file ${given}`);
  await keepInputs(flags, file);
  const reloading = new Reloading({
    file,
    imports: [...flags.import, ...typeScriptFor(file, flags)],
    waits: process.stderr.isTTY,
    onfailure: (failure) => {
      reportFailure(failure);
      // The end of this process would drop what stderr has not taken yet: the last output of the file, and why it did not start.
      process.stderr.write('', () => void stop());
    },
  });
  const onerror = ({ message }: Error): void => printStatus(message);
  const breakpoints = await breakpointsFor(flags, true);
  const service = compose(reloading.versions.service, ...(await interception(breakpoints)));
  const inbound = inboundTo(service, { onerror });
  atEnd(() => inbound.close(0));
  const listen = async (options: ListenOptions) => {
    const { listen: listenOn } = await import('../transport/http/server/listen.ts');
    const { onsession, onrequest } = inbound;
    const faults = await httpFaults(breakpoints, () => handler);
    const listener = await listenOn({ ...options, onsession, onrequest, onerror, pages: () => faults?.page() });
    const { handler } = listener;
    return listener;
  };
  const page = flags.inspect ? { port: flags.inspectPort, portOption: '--inspect-port' } : undefined;
  await run(
    path.parse(file).name,
    { connect: (transport) => inbound.connect(transport), listen },
    flags,
    { page, breakpoints },
    reloading.named,
  );
  // Runs first: without its process, nothing is left to wait for.
  atEnd(() => reloading.close());
  reloading.start();
}

/**
 * The modules that let Node run TypeScript. Newer versions of Node need none, unless the user names one.
 *
 * @throws Failure with code 2 if there is none.
 */
function typeScriptFor(file: string, { import: imports }: DevFlags): string[] {
  const features: object & { readonly typescript?: unknown } = process.features;
  if (!/\.[cm]?tsx?$/.test(file) || features.typescript || imports.length > 0) return [];
  try {
    return [pathToFileURL(createRequire(file).resolve('tsx')).href];
  } catch {
    throw Failure.usage(
      `Node ${process.versions.node} does not run TypeScript\nuse Node 22.18 or newer, or run: npm install --save-dev tsx`,
    );
  }
}
