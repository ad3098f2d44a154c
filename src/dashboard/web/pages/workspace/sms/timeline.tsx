// What happened to an SMS, oldest first: each part's way to the network and back, in words, with the network's own.

import { type Data, ErrorNotice, formatNumber, Loading, t, Time, type Tone, useCall, useEffect } from "../../../kit.ts";

type Entry = Data<"GET /api/v1/sms/:id/events">[number];
type Sms = Data<"GET /api/v1/sms/:id">;

/** Each receipt is a change of the record. */
export function SmsTimeline({ of }: { of: Sms }) {
  const { data, error, reload } = useCall("GET /api/v1/sms/:id/events", { params: { id: of.id } });
  useEffect(() => {
    if (data !== undefined) reload();
  }, [of.status, of.lastEventAt]);
  if (data === undefined) return error === null ? <Loading /> : <ErrorNotice error={error} retry={reload} />;
  return (
    <>
      {error !== null && <ErrorNotice error={error} retry={reload} />}
      <ol class="timeline">
        {data.map((entry, index) => (
          <li key={index} class={findTone(entry)}>
            <EntryView entry={entry} isOfSeveral={of.segments > 1} />
          </li>
        ))}
      </ol>
    </>
  );
}

function EntryView({ entry, isOfSeveral }: { entry: Entry; isOfSeveral: boolean }) {
  const words = t().sms;
  const { segment, reason, providerStatus, providerErrorCode, providerId, nextAttemptAt } = entry;
  const part = isOfSeveral && segment !== undefined ? words.part(formatNumber(segment)) : "";
  const said = [providerStatus, providerErrorCode, providerId].filter((each) => typeof each === "string").join(" ");
  return (
    <>
      <p class="entry-head">
        <strong>
          {part}
          {tellEntry(entry)}
        </strong>
        <span class="soft small">
          <Time value={entry.at} isFull />
        </span>
      </p>
      {reason !== null && (
        <p>
          <bdi>{reason}</bdi>
        </p>
      )}
      {nextAttemptAt !== undefined && (
        <p>
          {words.again} <Time value={nextAttemptAt} isFull />
        </p>
      )}
      {said !== "" && (
        <p class="small soft">
          {words.said}: <code>{said}</code>
        </p>
      )}
    </>
  );
}

function tellEntry({ type, attempt, receiptState }: Entry): string {
  const words = t().sms.entries;
  if (type === "segment.receipt") return words["segment.receipt"](t().sms.states[receiptState ?? "unknown"]);
  if (type === "segment.submitted") return words["segment.submitted"](formatNumber(attempt ?? 1));
  return words[type];
}

function findTone({ type, receiptState }: Entry): Tone {
  switch (type) {
    case "sms.delivered":
    case "sms.sent":
    case "segment.accepted":
      return "good";
    case "segment.receipt":
      if (receiptState === "delivered") return "good";
      return receiptState === "enroute" || receiptState === "accepted" ? "plain" : "bad";
    case "sms.undelivered":
    case "sms.failed":
    case "sms.expired":
    case "segment.failed":
    case "segment.expired":
      return "bad";
    case "segment.deferred":
    case "segment.uncertain":
      return "slow";
    default:
      return "plain";
  }
}
