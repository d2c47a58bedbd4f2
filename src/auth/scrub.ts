const REDACTED = '[redacted]';
/** Minimum length of a secret to remove. A shorter text may be an ordinary word, and can be guessed anyway. */
const MIN_SECRET = 8;
/** Beside these characters, and at either end of a text, a secret may have been cut. */
const CUT = '\r\n…';
/** The name of a scheme and credentials, as in `Authorization` (RFC 9110, section 11.4). */
const CREDENTIALS = /\b(bearer|basic|dpop)(\s+)[\w.~+/-]{8,}=*/gi;
/** The user name and password of a URL. They end at the last @ before the path. */
const USER = /(:\/\/)[^\s"'<>`/?#]*@/g;
/** A URL. The length of its scheme is bounded, so that a text of many words with dots takes linear time. */
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi;
/** The end of a line, also as an escape sequence: variables often contain keys in that form. */
const LINE_END = /[\r\n]|(?:\\r)?\\n/;

/**
 * Makes a function that removes credentials from a text: the given secrets, `Bearer`, `Basic` and `DPoP` credentials, and
 * user names and passwords in URLs. Secrets are also found in their JSON and URL encodings, and where a line cuts them, if
 * at least 8 characters are left. Secrets of fewer than 8 characters stay.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = new Set(secrets.flatMap(partsOf).flatMap(writtenForms));
  // The longest first, since one may be part of another.
  const forms = [...known].toSorted((a, b) => b.length - a.length);
  const whole = anyOf(forms);
  const beginnings = bySeed(forms, (form) => form.slice(0, MIN_SECRET));
  const ends = bySeed(forms, (form) => form.slice(-MIN_SECRET));
  const withoutSecrets = (text: string): string =>
    withoutEnds(withoutBeginnings(text.replace(whole, REDACTED), beginnings), ends);
  return (text) => {
    // Most strings of a large error are short.
    if (text.length < MIN_SECRET && !text.includes('@')) return text;
    const clean = forms.length > 0 ? withoutSecrets(text) : text;
    return clean.replace(USER, `$1${REDACTED}@`).replace(CREDENTIALS, `$1$2${REDACTED}`);
  };
}

/** Finds any of some texts, in one pass. */
function anyOf(texts: Iterable<string>): RegExp {
  return new RegExp([...texts].map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}

/** Secrets by their first or last characters. */
interface Seeds {
  readonly pattern: RegExp;
  readonly forms: ReadonlyMap<string, readonly string[]>;
}

function bySeed(forms: readonly string[], seedOf: (form: string) => string): Seeds {
  const found = new Map<string, string[]>();
  for (const form of forms) {
    const same = found.get(seedOf(form));
    if (same) same.push(form);
    else found.set(seedOf(form), [form]);
  }
  return { pattern: anyOf(found.keys()), forms: found };
}

/** Removes the beginning of a secret from the ends of lines. */
function withoutBeginnings(text: string, { pattern, forms }: Seeds): string {
  let clean = '';
  let done = 0;
  pattern.lastIndex = 0;
  for (let hit = pattern.exec(text); hit; hit = pattern.exec(text)) {
    const { index } = hit;
    pattern.lastIndex = index + 1;
    for (const secret of forms.get(hit[0])!) {
      let end = index + MIN_SECRET;
      while (end < text.length && text[end] === secret[end - index]) end += 1;
      if (end < text.length && !CUT.includes(text[end]!)) continue;
      clean += text.slice(done, index) + REDACTED;
      done = end;
      pattern.lastIndex = end;
      break;
    }
  }
  return clean + text.slice(done);
}

/** Removes the end of a secret from the beginnings of lines. */
function withoutEnds(text: string, { pattern, forms }: Seeds): string {
  let clean = '';
  let done = 0;
  pattern.lastIndex = 0;
  for (let hit = pattern.exec(text); hit; hit = pattern.exec(text)) {
    pattern.lastIndex = hit.index + 1;
    const end = hit.index + MIN_SECRET;
    for (const secret of forms.get(hit[0])!) {
      let start = hit.index;
      while (start > done && text[start - 1] === secret[secret.length - 1 - (end - start)]) start -= 1;
      if (start > 0 && !CUT.includes(text[start - 1]!)) continue;
      clean += text.slice(done, start) + REDACTED;
      done = end;
      break;
    }
  }
  return clean + text.slice(done);
}

/** A secret and its lines: a server writes to stderr line by line, and a key in PEM has several. */
function partsOf(secret: string): string[] {
  const lines = secret.split(LINE_END).map((line) => line.trim());
  return [...new Set([secret, ...lines])].filter((part) => part.length >= MIN_SECRET);
}

/** A text as it is, in a URL, and in the forms that writers of JSON use (RFC 8259, section 7). */
function writtenForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, escaped);
  const inJson = [json, ascii, json.replace(/[<>&]/g, escaped), ascii.replaceAll('/', '\\/')];
  // A URL has U+FFFD in place of half of a surrogate pair.
  const url = encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
  const form = new URLSearchParams([['', text]]).toString().slice(1);
  const inUrl = [url, url.replaceAll('%20', '+'), form];
  const lowerCase = inUrl.map((each) => each.replace(/%../g, (code) => code.toLowerCase()));
  return [text, ...inJson, ...inUrl, ...lowerCase];
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Removes the queries of URLs from a text: they may hold tokens. */
export function withoutQueries(text: string): string {
  return text.replace(URLS, (url) => url.replace(/\?[^#]*/, `?${REDACTED}`));
}
