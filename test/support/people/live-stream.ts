// A live stream, read event by event.

import type { Instance, Json } from "../fakes/instance.ts";

export interface StreamEvent {
  type: string;
  data: Json;
}

export interface LiveStream {
  readonly response: Response;
  /** The next event that `isWanted`; null: the stream ended, or was cut, without one. */
  next(isWanted: (event: StreamEvent) => boolean): Promise<StreamEvent | null>;
  cancel(): Promise<void>;
}

/** Of a browser that is signed in. */
export function browserHeaders(pombo: Instance, cookies: ReadonlyMap<string, string>): Record<string, string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return { cookie, "pombo-workspace": pombo.workspace.id, "sec-fetch-site": "same-origin" };
}

export async function openStream(url: string, headers: Record<string, string>): Promise<LiveStream> {
  const response = await fetch(url, { headers });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    response,
    async next(isWanted) {
      for (;;) {
        const end = text.indexOf("\n\n");
        if (end >= 0) {
          const event = parseEvent(text.slice(0, end));
          text = text.slice(end + 2);
          if (event !== null && isWanted(event)) return event;
          continue;
        }
        const chunk = await reader?.read().catch(() => null);
        if (chunk?.value === undefined) return null;
        text += chunk.value;
      }
    },
    cancel: async () => void (await reader?.cancel()),
  };
}

/** Null: a comment. */
function parseEvent(lines: string): StreamEvent | null {
  const [, type = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(lines) ?? [];
  return type === "" ? null : { type, data: JSON.parse(data) };
}
