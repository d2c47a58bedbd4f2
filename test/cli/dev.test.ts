import { execFileSync, spawn } from 'node:child_process';
import { constants, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client } from '../../src/client/index.ts';
import { client } from '../support/bridge-program.ts';
import { runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { PageClient } from '../support/inspector.ts';
import { devFile } from '../support/dev-file.ts';
import { programs, root, startNode, type RunningProcess } from '../support/process.ts';
import { StreamTransport } from '../../src/transport/stdio/stream.ts';

interface Dev extends RunningProcess {
  readonly url: string;
}

async function startDev(file: string, options: readonly string[] = []): Promise<Dev> {
  const child = startEverwire(['dev', '--port', '0', ...options, file]);
  const [, url] = await child.line(/listening on (http:\S+)$/);
  return { ...child, url: url! };
}

async function textOf(caller: Client, tool: string): Promise<unknown> {
  const { content } = await caller.callTool(tool);
  return content;
}

const text = (words: string): object[] => [{ type: 'text', text: words }];
const say = (words: string): string => `server.tool('say', {}, () => '${words}');`;

const TYPED = `const words: string = 'typed';\nserver.tool('say', {}, () => words);`;
const features: object & { readonly typescript?: unknown } = process.features;
const RUNS_TYPESCRIPT = Boolean(features.typescript);

/** Whether a process lives. */
function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('everwire dev', () => {
  test('serves an McpServer that is the default export', async () => {
    const file = devFile('export default server;');
    const server = await startDev(file.path);
    await server.line(/^everwire: serving mine 1\.0\.0 with nothing$/);
  });

  test('prints a client configuration with the name that the server gives itself', async () => {
    const server = await startDev(devFile('export default server;').path);
    await server.line(/^ {4}"mine": \{$/);
  });

  test.each(["'ready'", '{ ready: true }', "{ unusable: 'no' }", '{ close: 1 }', "{ 'watch:import': 1 }"])(
    'ignores that the file sends %s to its parent process, as process managers expect',
    async (sent) => {
      const file = devFile(`process.send(${sent});\n${say('sent')}`);
      const server = await startDev(file.path);
      expect(await textOf(await client(server.url), 'say')).toEqual(text('sent'));
    },
  );

  test('serves a CommonJS file, as a compiler writes it', async () => {
    const file = devFile(say('required'));
    const main = file.add(
      'main.cjs',
      `Object.defineProperty(exports, '__esModule', { value: true });
      const { McpServer } = require(${JSON.stringify(path.join(root, 'dist/lib/server.js'))});
      const made = new McpServer({ name: 'required', version: '1.0.0' });
      made.tool('say', {}, () => require('./words.cjs'));
      exports.default = made;`,
    );
    file.add('words.cjs', `module.exports = 'one';`);
    const server = await startDev(main);
    const caller = await client(server.url);
    expect(await textOf(caller, 'say')).toEqual(text('one'));
    // Loaded by the call.
    file.add('words.cjs', `module.exports = 'two';`);
    await server.line(/^everwire: reloaded, because .*words\.cjs changed$/);
    expect(await textOf(caller, 'say')).toEqual(text('two'));
  });

  test('reloads when an imported module changes, and says what is different', async () => {
    const file = devFile(`import { words } from './words.mjs';\nserver.tool('say', {}, () => words);`);
    file.add('words.mjs', `export const words = 'one';`);
    const server = await startDev(file.path);
    await server.line(/^everwire: serving mine 1\.0\.0 with 1 tool$/);
    const caller = await client(server.url);
    expect(await textOf(caller, 'say')).toEqual(text('one'));

    file.add('words.mjs', `export const words = 'two';`);
    await server.line(/^everwire: reloaded, because .*words\.mjs changed$/);
    await server.line(/^ {2}the lists are the same$/);
    expect(await textOf(caller, 'say')).toEqual(text('two'));

    file.write(`server.tool('tell', { description: 'Tells' }, () => '');\nserver.prompt('greet', {}, () => 'Hello');`);
    await server.line(/^ {2}added prompt greet$/);
    expect(server.stderr.slice(-4)).toEqual([
      `everwire: reloaded, because ${path.relative('.', file.path)} changed`,
      '  added tool tell',
      '  removed tool say',
      '  added prompt greet',
    ]);
    // It is not imported any more. If it counted, the message would name more than one file.
    file.add('words.mjs', `export const words = 'three';`);
    file.write(`server.tool('tell', { description: 'Tells all' }, () => '');`);
    await server.line(/^ {2}removed prompt greet$/);
    expect(server.stderr.slice(-3)).toEqual([
      `everwire: reloaded, because ${path.relative('.', file.path)} changed`,
      '  changed tool tell',
      '  removed prompt greet',
    ]);
  });

  test('keeps the last version after a mistake, shows where it is, and recovers', async () => {
    const file = devFile(say('good'));
    const server = await startDev(file.path);
    const caller = await client(server.url);
    expect(await textOf(caller, 'say')).toEqual(text('good'));
    file.write('const a = = 1;');
    await server.line(new RegExp(`${path.basename(file.path)}:3$`));
    await server.line(/^everwire: server\.mjs did not start: it exited with code 1$/);
    await server.line(/^ {2}the last version that worked is still served; change the file to try again$/);
    expect(await textOf(caller, 'say')).toEqual(text('good'));
    file.write(`throw new Error('at the start');`);
    await server.line(/^Error: at the start$/);
    await server.line(new RegExp(`${path.basename(file.path)}:3:7`));
    expect(await textOf(caller, 'say')).toEqual(text('good'));
    file.write(say('better'));
    await server.line(/^everwire: reloaded/);
    expect(await textOf(caller, 'say')).toEqual(text('better'));
  });

  test('refuses clients on a terminal until a first version starts', async () => {
    const file = devFile('await Promise.reject(new Error("no"));');
    const terminal = ['--import', 'data:text/javascript,process.stderr.isTTY = true'];
    const child = startNode([...terminal, ...programs.everwire, 'dev', '--port', '0', file.path]);
    onTestFinished(async () => void (await child.stop()));
    const [, url] = await child.line(/listening on (http:\S+)$/);
    const server = { ...child, url: url! };
    await server.line(/^ {2}nothing is served yet; change the file to try again$/);
    await expect(connect(server.url)).rejects.toThrow('server.mjs did not start; everwire dev has printed why');
    file.replace('export const other = 1;');
    await server.line(
      /did not start: it must export an McpServer, as server or as default, and must not serve it itself$/,
    );
    file.replace(`import './missing.mjs';`);
    await server.line(/Cannot find module '.*missing\.mjs'/);
    file.write(`import './missing.mjs';\n${say('at last')}`);
    await server.line(/server\.mjs did not start: it exited with code 1$/);
    file.add('missing.mjs', '');
    await server.line(/^everwire: serving mine/);
    expect(await textOf(await client(server.url), 'say')).toEqual(text('at last'));
  });

  test.each([
    ['a mistake', 'const a = = 1;', 'it exited with code 1'],
    [
      'no server',
      'export const other = 1;',
      'it must export an McpServer, as server or as default, and must not serve it itself',
    ],
    [
      'a listener of its own',
      "import { createServer } from 'node:http';\ncreateServer().listen(0, '127.0.0.1');",
      'it started a listener of its own; pass the file that exports the server',
    ],
  ])('exits without a terminal if the first version has %s', async (_, content, why) => {
    const file = devFile('');
    file.replace(content);
    const { code, stderr } = await runEverwire(['dev', '--port', '0', file.path]);
    expect(code).toBe(1);
    expect(stderr.split('\n').filter((line) => line.startsWith('everwire: server.mjs'))).toEqual([
      `everwire: server.mjs did not start: ${why}`,
    ]);
  });

  test('names the file that exports the server, if it lies beside', async () => {
    const file = devFile('');
    const main = file.add('main.mjs', "import { server } from './server.mjs';\nawait server.listen({ port: 0 });");
    const { code, stderr } = await runEverwire(['dev', '--port', '0', main]);
    expect(code).toBe(1);
    expect(stderr).toContain(`pass the file that exports the server: ${path.relative('', file.path)}`);
  });

  test('shows only the lines of a compiler, and not its stack', async () => {
    const file = devFile(`throw Object.assign(new Error('server.ts:3:10: ERROR'), { name: 'TransformError' });`);
    const { stderr } = await runEverwire(['dev', '--port', '0', file.path]);
    const lines = stderr.split('\n');
    expect(lines.slice(-2)).toEqual([
      'server.ts:3:10: ERROR',
      'everwire: server.mjs did not start: it exited with code 1',
    ]);
    expect(lines.filter((line) => line.includes(' at '))).toEqual([]);
  });

  test('lets a crash or an endless loop of the file end neither connections nor itself', async () => {
    const file = devFile(`
      server.tool('pid', {}, () => String(process.pid));
      server.tool('crash', {}, () => process.exit(3));
      server.tool('spin', {}, () => { for (;;); });`);
    const server = await startDev(file.path);
    const caller = await client(server.url);
    const first = await textOf(caller, 'pid');
    await expect(caller.callTool('crash')).rejects.toThrow('server.mjs exited with code 3');
    await server.line(/^everwire: .*server\.mjs exited with code 3; the next request starts it again$/);
    const [second] = (await textOf(caller, 'pid')) as [{ text: string }];
    expect(second).not.toEqual(first);
    const spinning = caller.callTool('spin').catch((error: Error) => error.message);
    file.write(say('free'));
    await server.line(/^everwire: reloaded/);
    expect(await textOf(caller, 'say')).toEqual(text('free'));
    expect(lives(Number(second.text))).toBe(true);
    await server.stop();
    expect(await spinning).toMatch(/closed|lost|ended/);
    expect(lives(Number(second.text))).toBe(false);
  });

  test('starts a process again from the file as it is then, also after a mistake', async () => {
    const file = devFile(`server.tool('crash', {}, () => process.exit(3));\n${say('good')}`);
    const server = await startDev(file.path);
    const caller = await client(server.url);
    file.write('const a = = 1;');
    await server.line(/^ {2}the last version that worked is still served; change the file to try again$/);
    expect(await textOf(caller, 'say')).toEqual(text('good'));
    await expect(caller.callTool('crash')).rejects.toThrow('server.mjs exited with code 3');
    await expect(caller.callTool('say')).rejects.toThrow(
      'Cannot connect: server.mjs did not start: it exited with code 1',
    );
    file.write(say('better'));
    await server.line(/^everwire: reloaded/);
    expect(await textOf(caller, 'say')).toEqual(text('better'));
  });

  test('lets a task finish in the version that runs it', async () => {
    const task = (name: string): string => `
            import { existsSync } from 'node:fs';
      server.tool('work', { task: true }, async () => {
        while (!existsSync(new URL('done', import.meta.url))) await new Promise((next) => setTimeout(next, 20));
        return '${name}';
      });`;
    const file = devFile(task('one'));
    const server = await startDev(file.path);
    const caller = await client(server.url);
    const { task: running } = await caller.callTool('work', {}, { detach: true });
    file.write(`${task('two')}\n${say('new')}`);
    await server.line(/^ {2}added tool say$/);
    file.add('done', '');
    expect(await running!.result()).toMatchObject({ content: text('one') });
  });

  test('serves a host over stdio, whatever the file prints', async () => {
    const file = devFile(`console.log('{"not":"a message"}');\n${say('clean')}`);
    const errors: Error[] = [];
    const caller = await connect(
      { command: process.execPath, args: [...programs.everwire, 'dev', '--stdio', file.path], stderr: 'ignore' },
      { onerror: (error) => errors.push(error) },
    );
    onTestFinished(() => caller.close());
    expect(await textOf(caller, 'say')).toEqual(text('clean'));
    expect(errors).toEqual([]);
  });

  // A process that inherits a pipe makes it blocking, and then a write to it waits until somebody reads.
  test.skipIf(process.platform !== 'linux')('never waits for a reader of stderr', async () => {
    const file = devFile(say('one'));
    const child = spawn(process.execPath, [...programs.everwire, 'dev', '--stdio', file.path]);
    onTestFinished(() => void child.kill());
    const caller = await connect(() => new StreamTransport(child.stdout, child.stdin, { role: 'client' }));
    onTestFinished(() => caller.close());
    for (const words of ['two', 'three']) {
      file.write(`${say(words)}\nfor (let line = 0; line < 3000; line += 1) console.log('x'.repeat(1000));`);
      await expect.poll(() => textOf(caller, 'say'), { timeout: 10_000 }).toEqual(text(words));
      const [, flags] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${child.pid}/fdinfo/2`, 'utf8'))!;
      expect(Number.parseInt(flags!, 8) & constants.O_NONBLOCK).toBe(constants.O_NONBLOCK);
    }
  });

  test.skipIf(process.platform === 'win32')('says why it ends, also if stderr is read late', () => {
    // More than the pipe of this shell and one read hold, and no more than Linux takes at once: the process of the file may
    // lose the rest when the file throws.
    const loading = "console.log('x'.repeat(140_000));\nthrow new Error('the reason');";
    const dev = [process.execPath, ...programs.everwire, 'dev', '--port', '0', devFile(loading).path];
    const read = execFileSync('sh', ['-c', '"$0" "$@" 2>&1 | { sleep 2; cat; }', ...dev], { encoding: 'utf8' });
    const shown = read.replace(/x+/, 'x');
    expect(shown).toContain('Error: the reason');
    expect(shown.slice(-300)).toMatch(/\neverwire: server\.mjs did not start: it exited with code 1\n$/);
  });

  test.skipIf(process.platform === 'win32')(
    'passes on what a process prints that the file has left behind',
    async () => {
      const daemon = `import { spawn } from 'node:child_process';
    const script = 'setInterval(() => console.log("alive", process.pid), 20)';
    spawn(process.execPath, ['-e', script], { detached: true, stdio: 'inherit' }).unref();`;
      const file = devFile(daemon);
      const server = await startDev(file.path);
      const [, pid] = await server.line(/^alive (\d+)$/);
      onTestFinished(() => void process.kill(Number(pid), 'SIGKILL'));
      file.write(say('next'));
      await server.line(/^everwire: reloaded/);
      const lines = (): number => server.stderr.filter((line) => line.startsWith('alive')).length;
      const before = lines();
      // More than the last output of an ended process may take.
      await expect.poll(lines, { timeout: 10_000 }).toBeGreaterThan(before + 50);
    },
  );

  test('shows the wire in the inspector', async () => {
    const server = await startDev(devFile(say('seen')).path, ['--inspect', '--inspect-port', '0']);
    const [, url] = await server.line(/inspector on (http:\S+)$/);
    expect((await fetch(url!)).status).toBe(200);
  });

  test('lets the page hold calls, and change them', async () => {
    const server = await startDev(devFile(say('said')).path, ['--inspect', '--inspect-port', '0']);
    const [, url] = await server.line(/inspector on (http:\S+)$/);
    const page = await PageClient.open(url!);
    await page.stay();
    await page.command('setRule', { filter: 'tool:say kind:request', action: { type: 'hold' }, enabled: true });
    const said = textOf(await client(server.url), 'say');
    const { held } = await page.held((state) => state.held.length === 1);
    const answer = '{"result":{"content":[{"type":"text","text":"by hand"}]}}';
    await page.command('answerHeld', { id: held[0]!.id, text: answer });
    expect(await said).toEqual(text('by hand'));
  });

  test.skipIf(RUNS_TYPESCRIPT)('says how TypeScript runs if Node does not run it', async () => {
    const { code, stderr } = await runEverwire(['dev', devFile(TYPED, 'server.ts').path]);
    expect(code).toBe(2);
    expect(stderr.split('\n')).toEqual([
      `everwire: Node ${process.versions.node} does not run TypeScript`,
      '  use Node 22.18 or newer, or run: npm install --save-dev tsx',
    ]);
  });

  test.runIf(RUNS_TYPESCRIPT)('runs TypeScript as Node does', async () => {
    const server = await startDev(devFile(TYPED, 'server.ts').path);
    expect(await textOf(await client(server.url), 'say')).toEqual(text('typed'));
  });

  test('lets Node load modules first', async () => {
    const file = devFile(`server.tool('say', {}, () => globalThis.words);`);
    const first = file.add('first.mjs', `globalThis.words = 'loaded first';`);
    const server = await startDev(file.path, ['--import', pathToFileURL(first).href]);
    expect(await textOf(await client(server.url), 'say')).toEqual(text('loaded first'));
  });

  test('refuses a file that does not exist', async () => {
    const { code, stderr } = await runEverwire(['dev', path.join(temporaryFolder(), 'none.ts')]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^everwire: there is no file .*none\.ts$/);
  });
});
