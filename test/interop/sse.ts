/** Reads an event stream by the HTML specification, as far as MCP uses it. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, string>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event: Record<string, string> = {};
      for (const line of text.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
      }
      text = text.slice(end + 2);
      if (Object.keys(event).length > 0) yield event;
    }
  }
}
