// What pombo and a mail server say to each other: as it is kept, and as it happens.

import { formatNumber, Notice, t, Time, useEffect, useRef } from "../../../kit.ts";
import { StatusBadge } from "../parts/status.tsx";
import { isolate } from "../parts/words.tsx";
import type { DialogueLine, Watched } from "./watch.ts";

const SIGNS: Record<DialogueLine["by"], string> = { connect: "⇄", client: "→", server: "←", note: "·" };

/** With the milliseconds of each line. `isLive`: the newest line stays in view. */
function Dialogue({ lines, isLive = false }: { lines: DialogueLine[]; isLive?: boolean }) {
  const words = t().dialogue;
  const place = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (isLive) place.current?.scrollTo(0, place.current.scrollHeight);
  }, [lines.length]);
  return (
    <>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by keyboard */}
      <ol ref={place} class="dialogue" tabIndex={0} aria-label={words.label}>
        {lines.map(({ ms, by, text }, index) => (
          <li key={index} class={by}>
            <span class="ms">{ms === null ? "" : formatNumber(ms, { useGrouping: false })}</span>
            <span aria-hidden="true">{SIGNS[by]}</span>
            <span>
              <span class="unseen">{words.by[by]} </span>
              <bdi>{text}</bdi>
            </span>
          </li>
        ))}
      </ol>
      <p class="small soft">
        {words.legend} {lines.some(({ ms }) => (ms ?? 0) < 0) && words.earlier}
      </p>
    </>
  );
}

/** Behind a disclosure, in the timeline. */
export function KeptDialogue({ lines, isOpen }: { lines: DialogueLine[]; isOpen: boolean }) {
  const words = t().dialogue;
  return (
    <details open={isOpen}>
      <summary>{words.title}</summary>
      <Dialogue lines={lines} />
    </details>
  );
}

interface LiveProps {
  id: string;
  watched: Watched;
  /** Where nothing was heard, as the attempt was over before: what is kept of it. */
  kept?: DialogueLine[] | undefined;
}

/** Where it stands in a sentence, which is also what is read aloud, and the lines below. */
export function LiveDialogue({ id, watched, kept = [] }: LiveProps) {
  const words = t().dialogue;
  const { now, link } = watched;
  const lines = watched.lines.length > 0 ? watched.lines : kept;
  const said = now?.failedReason ?? now?.lastReply ?? null;
  const isOver = now !== null && (watched.result !== null || watched.attempt === null) && now.status !== "sending";
  return (
    <div class="live">
      <div class="now" role="status">
        {isOver && now.status !== "queued" ? <Verdict id={id} now={now} /> : <p>{tellStage(watched)}</p>}
      </div>
      {link !== "open" && (
        <Notice tone="slow">
          <p>{link === "full" ? words.full : words.cut}</p>
        </Notice>
      )}
      {lines.length > 0 && <Dialogue lines={lines} isLive />}
      {isOver && said !== null && (
        <figure class="reply">
          <figcaption class="small soft">{t().event.reply}</figcaption>
          <blockquote>
            <bdi>{said}</bdi>
          </blockquote>
        </figure>
      )}
    </div>
  );
}

function Verdict({ id, now }: { id: string; now: NonNullable<Watched["now"]> }) {
  const words: Record<string, string> = t().now;
  return (
    <>
      <StatusBadge id={id} status={now.status} />
      <p>
        {words[now.status]}
        {now.nextAttemptAt !== null && (
          <>
            {" "}
            <Time value={now.nextAttemptAt} />
          </>
        )}
      </p>
    </>
  );
}

function tellStage({ attempt, lines }: Watched): string {
  const words = t().dialogue;
  if (attempt === null) return words.waiting;
  const at = lines.findLastIndex(({ by }) => by === "connect");
  const host = isolate(lines[at]?.text.split(" ")[0] ?? "");
  if (at < 0) return words.looking;
  if (!lines.slice(at).some(({ by }) => by === "server")) return words.connecting(host);
  return lines.at(-1)?.text.startsWith("message of ") === true ? words.sent(host) : words.talking(host);
}
