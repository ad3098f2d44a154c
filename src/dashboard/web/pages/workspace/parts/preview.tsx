// The html of an email in a frame that runs and loads nothing; beside it what it would load, and where its links lead.

import { ApiError, Button, type Data, ErrorNotice, Loading, t, useEffect, useState } from "../../../kit.ts";

type Ticket = Data<"POST /api/v1/emails/:id/preview">;

interface PreviewProps {
  /** Gets a ticket; asked anew when the words change. */
  ask: () => Promise<{ data: Ticket }>;
  of: string;
}

export function Preview({ ask, of }: PreviewProps) {
  const words = t().preview;
  const [ticket, setTicket] = useState<Ticket | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isNarrow, setNarrow] = useState(false);
  const [asked, setAsked] = useState(0);
  useEffect(() => {
    let isShown = true;
    setError(null);
    setTicket(null);
    void ask().then(
      ({ data }) => isShown && setTicket(data),
      (caught: unknown) => {
        if (!(caught instanceof ApiError)) throw caught;
        if (isShown) setError(caught);
      },
    );
    return () => {
      isShown = false;
    };
  }, [of, asked]);
  if (error !== null) return <ErrorNotice error={error} retry={() => setAsked(asked + 1)} />;
  if (ticket === null) return <Loading />;
  return (
    <div class="preview">
      <div class="actions" role="group" aria-label={words.width}>
        <Button aria-pressed={!isNarrow} onClick={() => setNarrow(false)}>
          {words.desktop}
        </Button>
        <Button aria-pressed={isNarrow} onClick={() => setNarrow(true)}>
          {words.phone}
        </Button>
      </div>
      {/* Not lazy: the ticket in its address is good for a minute. */}
      <iframe
        key={ticket.path}
        src={ticket.path}
        sandbox=""
        referrerpolicy="no-referrer"
        title={words.frame}
        class={isNarrow ? "phone" : undefined}
      />
      <Beside ticket={ticket} />
    </div>
  );
}

function Beside({ ticket: { remote, links, moreLinks } }: { ticket: Ticket }) {
  const words = t().preview;
  return (
    <>
      {remote.length > 0 && (
        <>
          <h3>{words.remote}</h3>
          <ul>
            {remote.map(({ host, count }) => (
              <li key={host}>
                {words.remoteOf(count)} <strong dir="ltr">{host}</strong>
              </li>
            ))}
          </ul>
        </>
      )}
      {links.length > 0 && (
        <details>
          <summary>{words.links(links.length + moreLinks)}</summary>
          <ul>
            {links.map(({ text, url, host }, n) => (
              <li key={n}>
                <bdi>{text === "" ? words.noText : text}</bdi> → {host !== null && <strong dir="ltr">{host}</strong>}{" "}
                <span class="small soft" dir="ltr">
                  {url}
                </span>
              </li>
            ))}
            {moreLinks > 0 && <li>{words.moreLinks(moreLinks)}</li>}
          </ul>
        </details>
      )}
    </>
  );
}
