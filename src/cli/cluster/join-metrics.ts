/**
 * Joins pages of metrics to one. The text format of Prometheus allows each metric only once, with all its series. The
 * series of two pages differ in a label.
 *
 * @param pages by the numbers of their workers. An empty page means that the worker did not answer.
 */
export function joinMetrics(pages: Readonly<Record<number, string>>): string {
  const families = new Map<string, string[]>();
  const workers = Object.entries(pages);
  for (const [, page] of workers) {
    for (const family of page.trimEnd().split('\n\n')) {
      const [help, type, ...samples] = family.split('\n');
      if (type === undefined) continue;
      const heading = `${help}\n${type}`;
      const known = families.get(heading);
      if (known) known.push(...samples);
      else families.set(heading, samples);
    }
  }
  families.set(
    '# HELP everwire_worker_up 1 if the worker has answered this request, else 0\n# TYPE everwire_worker_up gauge',
    workers.map(([number, page]) => `everwire_worker_up{worker="${number}"} ${page === '' ? 0 : 1}`),
  );
  return `${Array.from(families, ([heading, samples]) => [heading, ...samples].join('\n')).join('\n\n')}\n`;
}
