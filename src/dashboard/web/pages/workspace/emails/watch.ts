// One email as it is sent: its attempts, told by a stream of its own while somebody looks.

import { type ApiError, type Data, keepReading, refreshMe, useEffect, useState } from "../../../kit.ts";

export type DialogueLine = NonNullable<Data<"GET /api/v1/emails/:id/events">[number]["dialogue"]>[number];

export interface Watched {
  /** The last one heard of; null: none yet. */
  attempt: number | null;
  lines: DialogueLine[];
  result: { ms: number; reason: string | null } | null;
  now: Pick<Data<"GET /api/v1/emails/:id">, "status" | "nextAttemptAt" | "lastReply" | "failedReason"> | null;
  /** `full`: too many streams are open. */
  link: "open" | "cut" | "full";
}

const NOTHING: Watched = { attempt: null, lines: [], result: null, now: null, link: "open" };
const IN_FLIGHT = ["queued", "sending", "delivery_delayed"];

/** More is to come, and soon. */
export function isInFlight(status: string): boolean {
  return IN_FLIGHT.includes(status);
}

/** `id` null: nothing is watched. What was heard stays, also when the stream is cut. */
export function useWatch(id: string | null): Watched {
  const [watched, setWatched] = useState(NOTHING);
  useEffect(() => {
    if (id === null) return undefined;
    const stop = new AbortController();
    const change = (by: (before: Watched) => Partial<Watched>) =>
      setWatched((before) => ({ ...before, ...by(before) }));
    void keepReading(`/api/v1/emails/${id}/live`, stop.signal, {
      opened: () => change(() => ({ link: "open" })),
      lost: (error: ApiError | null) => change(() => ({ link: error?.status === 429 ? "full" : "cut" })),
      hear({ name, data }) {
        if (name === "ended") {
          stop.abort();
          return void refreshMe();
        }
        change((before) => take(before, name, data));
        // The place is for others.
        if (name === "email" && isOver((data as NonNullable<Watched["now"]>).status)) stop.abort();
      },
    });
    return () => stop.abort();
  }, [id]);
  return watched;
}

function isOver(status: string): boolean {
  return !isInFlight(status) && status !== "scheduled";
}

function take(before: Watched, name: string, data: unknown): Partial<Watched> {
  switch (name) {
    case "email":
      return { now: data as NonNullable<Watched["now"]> };
    case "attempt":
      return { attempt: (data as { attempt: number }).attempt, lines: [], result: null };
    case "dialogue":
      return { lines: before.lines.concat((data as { lines: DialogueLine[] }).lines) };
    case "result":
      return { result: data as NonNullable<Watched["result"]> };
    default:
      return {};
  }
}
