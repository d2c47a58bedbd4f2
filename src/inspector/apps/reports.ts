import type { AppReports, Violation } from '../../inspect/page-server/apps-api.ts';
import { jsonObjectIn } from '../../jsonrpc/json-in.ts';
import { isObject } from '../../jsonrpc/message.ts';

/** The most violations that are kept, and the most reports that are read. An app can cause any number of them. */
const MAX_VIOLATIONS = 50;
const MAX_REPORTS = 1000;
/** The longest text that is kept. UTF-16 code units. */
const MAX_TEXT = 500;

/** The violations of one app's policy that browsers reported. */
export class Reports {
  readonly #violations = new Map<string, Violation>();
  #count = 0;
  #hasMore = false;

  /**
   * Adds a report, as a browser sends it to `report-uri` (Content Security Policy Level 3, 5.3). The app itself can send
   * the same.
   *
   * @returns whether something changed.
   */
  add(body: string): boolean {
    this.#count += 1;
    if (this.#count > MAX_REPORTS) {
      const changed = !this.#hasMore;
      this.#hasMore = true;
      return changed;
    }
    const report = jsonObjectIn(body)?.['csp-report'];
    if (!isObject(report)) return false;
    const [directive, blocked] = [report['effective-directive'], report['blocked-uri']];
    if (typeof directive !== 'string' || typeof blocked !== 'string') return false;
    const found = { directive: directive.slice(0, MAX_TEXT), blocked: blocked.slice(0, MAX_TEXT) };
    const key = JSON.stringify(found);
    const count = (this.#violations.get(key)?.count ?? 0) + 1;
    if (count > 1 || this.#violations.size < MAX_VIOLATIONS) this.#violations.set(key, { ...found, count });
    else this.#hasMore = true;
    return true;
  }

  state(id: number): AppReports {
    return { id, violations: [...this.#violations.values()], hasMore: this.#hasMore };
  }
}
