// Reads server-sent events from an answer's body: EventSource cannot send our headers.

export interface ServerEvent {
  name: string;
  data: unknown;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== null) yield event;
    }
  }
}

/** Null: a comment. */
export function parseEvent(block: string): ServerEvent | null {
  const lines = block.split("\n");
  const find = (field: string) => lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2);
  const data = find("data");
  return data === undefined ? null : { name: find("event") ?? "message", data: JSON.parse(data) as unknown };
}
