/** What a person chose, kept by the browser. It may refuse to: then the choice lasts as long as the page. */

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
