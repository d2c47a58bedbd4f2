export async function register(): Promise<void> {
  if (process.env['NEXT_RUNTIME'] !== 'nodejs') return;
  const { server } = await import('./next-server.ts');
  process.once('SIGTERM', () => void server.close(10_000));
}
