/** The user's choices, stored by the browser. If the browser refuses to store them, they last as long as the page. */

export function read(name: string): string | null {
  try {
    return localStorage.getItem(`everwire-${name}`);
  } catch {
    return null;
  }
}

export function write(name: string, value: string): void {
  try {
    localStorage.setItem(`everwire-${name}`, value);
  } catch {
    // See above.
  }
}
