// What happened to an email, and what happens to it now.

import { Card, ErrorNotice, formatNumber, t, useCall, useEffect, useState } from "../../../kit.ts";
import { findStatus } from "../parts/status.tsx";
import { LiveDialogue } from "./dialogue.tsx";
import { Timeline } from "./timeline.tsx";
import { isInFlight, useWatch } from "./watch.ts";

export function History({ id, status }: { id: string; status: string }) {
  const events = useCall("GET /api/v1/emails/:id/events", { params: { id }, query: { include: "dialogue" } });
  const isWaiting = isInFlight(findStatus(id, status));
  // What was heard stays until the page is left: below, or open in the timeline once it is kept.
  const [isWatched, setWatched] = useState(isWaiting);
  if (isWaiting && !isWatched) setWatched(true);
  const watched = useWatch(isWatched ? id : null);
  const { attempt } = watched;
  const next = watched.now?.status;
  useEffect(() => {
    if (next !== undefined) events.reload();
  }, [next]);
  const isKept = events.data?.some((entry) => entry.attempt === attempt && (entry.dialogue ?? null) !== null);
  return (
    <Card title={t().email.timeline}>
      {events.error !== null && <ErrorNotice error={events.error} retry={events.reload} />}
      {events.data !== undefined && <Timeline entries={events.data} openAttempt={attempt} />}
      {attempt !== null && isKept !== true && (
        <>
          <h3>{t().dialogue.attempt(formatNumber(attempt))}</h3>
          <LiveDialogue id={id} watched={watched} />
        </>
      )}
    </Card>
  );
}
