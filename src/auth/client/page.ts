/** What a page of a browser has, and other runtimes do not. */
interface Page {
  readonly location: { readonly href: string; readonly search: string; assign(url: string): void };
  readonly history: { readonly state: unknown; replaceState(state: unknown, unused: string, url: string): void };
  readonly sessionStorage: WebStorage;
  readonly localStorage: WebStorage;
  addEventListener(type: 'pageshow', listener: (event: { readonly persisted: boolean }) => void): void;
  open(url: string, target: string, features: string): LoginWindow | null;
  close(): void;
}

/** A window that `window.open` has opened. */
export interface LoginWindow {
  /** Closes the window, if it is still open. */
  close(): void;
}

/** `sessionStorage` or `localStorage`. */
export interface WebStorage {
  /** The value of a key; null if there is none. */
  getItem(key: string): string | null;
  /** Sets the value of a key. @throws if there is no room. */
  setItem(key: string, value: string): void;
  /** Removes a key. */
  removeItem(key: string): void;
}

/** @throws TypeError if this is not a page. */
export function thisPage(): Page {
  const { window } = globalThis as { window?: unknown };
  if (window === undefined) throw new TypeError('This needs a page in a browser');
  return window as Page;
}
