/** One server-sent event or comment, read by the rules of the HTML standard, section 9.2.6. */
export interface EventFrame {
  /** Undefined if the frame has no `data`: then no event is dispatched. */
  readonly data: string | undefined;
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly hasComment: boolean;
  /** Field names that the standard does not have. */
  readonly unknownFields: readonly string[];
}

/** @param text the frame, with its line ends. */
export function parseFrame(text: string): EventFrame {
  const data: string[] = [];
  const unknownFields: string[] = [];
  let event: string | undefined;
  let id: string | undefined;
  let retry: string | undefined;
  let hasComment = false;
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === '') hasComment = true;
    else if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id') id = value;
    else if (name === 'retry') retry = value;
    else unknownFields.push(name);
  }
  return { data: data.length === 0 ? undefined : data.join('\n'), event, id, retry, hasComment, unknownFields };
}
