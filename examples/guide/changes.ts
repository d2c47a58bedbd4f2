import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'library', version: '1.0.0' });

const bell = server.tool('ring', { description: 'Rings for the librarian', enabled: false }, () => 'Coming!');

export const open = (): void => bell.enable();
export const close = (): void => bell.disable();
export const renovate = (): void => bell.update({ description: 'Rings for the foreman' });
export const tearDown = (): void => bell.remove();
