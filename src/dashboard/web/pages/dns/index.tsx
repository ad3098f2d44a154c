// The page of a link to a domain's records, for whoever owns its DNS: no account, and ticks that come by themselves.

import {
  ApiError,
  type Data,
  ErrorNotice,
  Frame,
  Loading,
  Notice,
  readError,
  readEvents,
  send,
  t,
  useEffect,
  useState,
} from "../../kit.ts";
import { HostSteps, isComplete, Records } from "../workspace/domains/records.tsx";
import { isolate } from "../workspace/parts/words.tsx";

type Shared = Data<"GET /api/v1/dns-share">;

const PATH = "/api/v1/dns-share";
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

export function SharedDns() {
  // Behind the #, so that no server and no proxy has it in a log.
  const [token] = useState(() => location.hash.slice(1));
  const [shared, setShared] = useState<Shared | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async (path: string) => {
      const answer = await send(path, { headers: { "Pombo-Share": token }, signal: stop.signal });
      if (!answer.ok) throw await readError(answer);
      return answer;
    };
    const load = async () => {
      setShared(((await (await ask(PATH)).json()) as { data: Shared }).data);
      setError(null);
    };
    void follow(stop.signal, load, () => ask(`${PATH}/live`), setError);
    return () => stop.abort();
  }, [token]);
  const words = t().domains;
  if (error?.status === 410) return <Frame title={words.sharedOver} intro={words.sharedOverText} />;
  if (shared === null)
    return error === null ? (
      <Loading />
    ) : (
      <Frame title={words.one}>
        <ErrorNotice error={error} />
      </Frame>
    );
  const { domain, dnsHost } = shared;
  const isDone = isComplete(dnsHost);
  return (
    <Frame isWide title={words.sharedTitle(isolate(domain))} intro={words.sharedIntro(isolate(domain))}>
      {error !== null && <Notice tone="slow">{words.sharedAway}</Notice>}
      <div role="status">
        <Notice tone={isDone ? "good" : "plain"}>
          <p>{isDone ? words.sharedDone : words.sharedText}</p>
        </Notice>
      </div>
      {!isDone && <HostSteps at={dnsHost} />}
      <Records at={dnsHost} />
    </Frame>
  );
}

/** Reads the records whenever the stream says that they changed; a stream that ends is opened again. */
async function follow(
  stop: AbortSignal,
  load: () => Promise<void>,
  open: () => Promise<Response>,
  failed: (error: ApiError) => void,
): Promise<void> {
  for (let retryMs = RETRY_MS; !stop.aborted; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
    let waitMs = retryMs;
    try {
      // The stream first: nothing that changes after this is missed.
      const { body } = await open();
      await load();
      retryMs = RETRY_MS / 2;
      if (body !== null) for await (const _ of readEvents(body)) await load();
    } catch (error) {
      if (stop.aborted) return;
      // A stream that was cut is no fault.
      if (error instanceof ApiError) failed(error);
      if (error instanceof ApiError && error.status === 410) return;
      if (error instanceof ApiError && error.retryAfterS !== null) waitMs = error.retryAfterS * 1_000;
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
