/** A note. Its id is a number in decimal. */
export interface Note {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly tags: readonly string[];
}

/** The notes of all users, and the access tokens of the users. */
export class Store {
  readonly #notes = new Map<string, Note>();
  #next = 1;

  add(title: string, text: string, tags: readonly string[]): Note {
    const note = { id: String(this.#next++), title, text, tags };
    this.#notes.set(note.id, note);
    return note;
  }

  all(): Note[] {
    return [...this.#notes.values()];
  }

  get(id: string): Note | undefined {
    return this.#notes.get(id);
  }

  delete(id: string): void {
    this.#notes.delete(id);
  }

  find(words: string): Note[] {
    return this.all().filter(({ title, text }) => `${title} ${text}`.includes(words));
  }

  tags(): string[] {
    return [...new Set(this.all().flatMap(({ tags }) => tags))].toSorted();
  }

  /** Who has an access token, and what the token allows. A real server asks its authorization server. */
  async userOf(token: string): Promise<{ name: string; scopes: string[]; expiresAt: number } | undefined> {
    if (token !== 'token-of-ada') return undefined;
    return { name: 'ada', scopes: ['notes'], expiresAt: Math.floor(Date.now() / 1000) + 3600 };
  }
}
