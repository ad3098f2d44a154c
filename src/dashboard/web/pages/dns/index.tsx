// The page of a link to a domain's records, for whoever owns its DNS: no account, and ticks that come by themselves.

import { ErrorNotice, Frame, invalidate, keepReading, Loading, Notice, t, useCall, useEffect } from "../../kit.ts";
import { HostSteps, isComplete, Records } from "../workspace/domains/records.tsx";
import { isolate } from "../workspace/parts/words.tsx";

const PATH = "/api/v1/dns-share";

export function SharedDns() {
  const words = t().domains;
  const { data, error, reload } = useCall("GET /api/v1/dns-share");
  const isOver = error?.status === 410;
  useEffect(() => {
    if (isOver) return undefined;
    const stop = new AbortController();
    // What changed while no stream was open is not known.
    const refresh = () => invalidate(PATH);
    void keepReading(`${PATH}/live`, stop.signal, { opened: refresh, hear: refresh, lost: refresh });
    return () => stop.abort();
  }, [isOver]);
  if (isOver) return <Frame title={words.sharedOver} intro={words.sharedOverText} />;
  if (data === undefined)
    return (
      <Frame title={words.one}>{error === null ? <Loading /> : <ErrorNotice error={error} retry={reload} />}</Frame>
    );
  const { domain, dnsHost } = data;
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
