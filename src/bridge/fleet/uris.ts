/** What a server has resources by. */
export interface ResourceIds {
  readonly uris: ReadonlySet<string>;
  readonly templates: ReadonlySet<string>;
}

const WRAPPED = /^everwire\+([a-z0-9.-]+):(.*)$/s;

/** A URI, or a template of some, that names its server: `everwire+notes:file:///a.txt`. */
export function wrapUri(label: string, uri: string): string {
  return `everwire+${label}:${uri}`;
}

/** Takes apart what names its server. */
export function unwrapUri(uri: string): { readonly label: string; readonly uri: string } | undefined {
  const [, label, inner] = WRAPPED.exec(uri) ?? [];
  return label === undefined || inner === undefined ? undefined : { label, uri: inner };
}

interface Template {
  readonly member: string;
  readonly template: string;
  readonly begins: string;
  readonly ends: string;
}

/**
 * Whose a URI is. Where it leads back to its server by itself, it stays as it is: hosts open some by their scheme, and
 * show others. Where it does not, it names its server.
 */
export class UriTable {
  readonly #labels: ReadonlyMap<string, string>;
  readonly #ids: ReadonlyMap<string, ResourceIds>;
  readonly #templates: Template[] = [];
  readonly #schemes = new Map<string, Set<string>>();

  /**
   * @param labels of all servers that may have resources, by their names.
   * @param ids what is known of these; nothing of one that did not answer.
   */
  constructor(labels: ReadonlyMap<string, string>, ids: ReadonlyMap<string, ResourceIds>) {
    this.#labels = labels;
    this.#ids = ids;
    for (const [member, { uris, templates }] of ids) {
      for (const template of templates) this.#templates.push({ member, template, ...endsOf(template) });
      for (const uri of [...uris, ...templates]) this.#addScheme(member, uri);
    }
  }

  /**
   * The servers that a URI may be of: those that list it; else those that have a template for it; else those that have
   * others of its scheme; else all.
   */
  owners(uri: string): readonly string[] {
    const listing = [...this.#ids].filter(([, { uris }]) => uris.has(uri)).map(([member]) => member);
    if (listing.length > 0) return listing;
    const fitting = new Set(this.#templates.filter((template) => fits(uri, template)).map(({ member }) => member));
    if (fitting.size > 0) return [...fitting];
    const sharing = this.#schemes.get(schemeOf(uri));
    return sharing ? [...sharing] : [...this.#labels.keys()];
  }

  /** What the URI of a server's resource is outside. */
  outward(member: string, uri: string): string {
    const owners = this.owners(uri);
    const own = owners.length === 1 && owners[0] === member && !this.#looksWrapped(uri);
    return own ? uri : this.#wrap(member, uri);
  }

  /** What the template of a server's resources is outside: all that it may become has to lead back. */
  outwardTemplate(member: string, template: string): string {
    const own = { ...endsOf(template), template };
    const other = ({ member: whose, begins }: Template): boolean =>
      whose !== member && (begins.startsWith(own.begins) || own.begins.startsWith(begins));
    const clashes =
      this.#looksWrapped(own.begins) ||
      this.#templates.some(other) ||
      [...this.#ids].some(([whose, { uris }]) => whose !== member && [...uris].some((uri) => fits(uri, own)));
    return clashes ? this.#wrap(member, template) : template;
  }

  /** The servers that list a template, or have it for a resource that is not listed. */
  ownersOfTemplate(template: string): readonly string[] {
    const listing = this.#templates.filter((each) => each.template === template).map(({ member }) => member);
    return listing.length > 0 ? listing : this.owners(template);
  }

  #wrap(member: string, uri: string): string {
    return wrapUri(this.#labels.get(member)!, uri);
  }

  /** A server may itself stand for several, and name them as we do. */
  #looksWrapped(uri: string): boolean {
    return unwrapUri(uri) !== undefined;
  }

  #addScheme(member: string, uri: string): void {
    const scheme = schemeOf(uri);
    const sharing = this.#schemes.get(scheme);
    if (sharing) sharing.add(member);
    else this.#schemes.set(scheme, new Set([member]));
  }
}

function schemeOf(uri: string): string {
  const end = uri.indexOf(':');
  return end === -1 ? '' : uri.slice(0, end).toLowerCase();
}

/** What all that a template may become begins and ends with. */
function endsOf(template: string): { readonly begins: string; readonly ends: string } {
  const first = template.indexOf('{');
  if (first === -1) return { begins: template, ends: '' };
  return { begins: template.slice(0, first), ends: template.slice(template.lastIndexOf('}') + 1) };
}

/** Whether a template may become a URI. What stands between its variables is not looked at: a doubt counts as yes. */
function fits(uri: string, { template, begins, ends }: Pick<Template, 'template' | 'begins' | 'ends'>): boolean {
  if (begins === template) return uri === template;
  return uri.length >= begins.length + ends.length && uri.startsWith(begins) && uri.endsWith(ends);
}
