// All that the sandbox's page shows: each message that arrived with its record in the API, and each that did not.

import { showState } from "../../modules/emails/api/serialize.ts";
import { showMessage } from "../../modules/sms/api/serialize.ts";
import type { Inbox } from "../mx/inbox.ts";
import type { Texts } from "../smsc/message-store.ts";
import type { SentStore } from "./sent-store.ts";
import { showInbox, showText } from "./views.ts";

/** Messages that arrived, and records, of each kind. */
const LISTED = 500;

export interface FeedDeps {
  inbox: Inbox;
  /** Null: there are no phones. */
  texts: Texts | null;
  /** Null: the instance has not started yet. */
  sent: SentStore | null;
}

/** The feed as JSON with its entity tag. It is made anew only when something was written: pages ask each second. */
export function openFeed(): (deps: FeedDeps) => { body: string; tag: string } {
  let made = { changes: "", body: "", tag: "" };
  return (deps) => {
    const counts = [deps.inbox, deps.texts, deps.sent].map((store) => store?.countChanges() ?? -1);
    const changes = counts.join(" ");
    if (changes !== made.changes) {
      const body = JSON.stringify(readFeed(deps));
      made = { changes, body, tag: `"${Bun.hash(body).toString(36)}"` };
    }
    return made;
  };
}

/**
 * Newest first. `sent`: the record of the API; null: it is gone. `message` and `text`: what arrived; null: nothing did.
 * A record that was delivered, or that was there when everything was deleted, is shown only with what arrived.
 */
function readFeed({ inbox, texts, sent }: FeedDeps) {
  return { mail: readMail(inbox, sent), phones: texts === null ? [] : readPhones(texts, sent) };
}

function readMail(inbox: Inbox, sent: SentStore | null) {
  const records = (sent?.listEmails(LISTED) ?? []).map((state) => ({
    key: state.email.returnPath,
    createdAt: state.email.createdAt,
    record: showState(state),
  }));
  const arrived = inbox.list({ limit: LISTED }).map((message) => ({
    key: message.envelopeFrom,
    at: message.receivedAt,
    shown: showInbox(message),
  }));
  return joinRecords(records, arrived, inbox.clearedUntil()).map(({ shown, record }) => ({
    message: shown,
    sent: record,
  }));
}

function readPhones(texts: Texts, sent: SentStore | null) {
  const records = (sent?.listSms(LISTED) ?? []).map(({ message, userMessageReference }) => ({
    key: `${message.recipient} ${userMessageReference}`,
    createdAt: message.createdAt,
    record: showMessage(message),
  }));
  const arrived = texts.list({ limit: LISTED, withOut: true }).map((text) => ({
    // Replies match no record.
    key: text.direction === "in" ? `${text.to} ${text.reference}` : "",
    at: text.receivedAt,
    shown: { ...showText(text), direction: text.direction },
  }));
  return joinRecords(records, arrived, texts.clearedUntil()).map(({ shown, record }) => ({
    text: shown,
    sent: record,
  }));
}

interface DeliveryRecord {
  deliveredAt: string | null;
}

/** Joins records and messages that arrived, by `key`. Newest first. */
function joinRecords<Row extends DeliveryRecord, View>(
  records: { key: string; createdAt: number; record: Row }[],
  arrived: { key: string; at: number; shown: View }[],
  clearedUntil: number,
) {
  const byKey = new Map(records.map(({ key, record }) => [key, record]));
  const keys = new Set(arrived.map(({ key }) => key));
  const missing = records.filter(
    ({ key, createdAt, record }) => !keys.has(key) && createdAt > clearedUntil && record.deliveredAt === null,
  );
  return [
    ...arrived.map(({ key, at, shown }) => ({ at, shown, record: byKey.get(key) ?? null })),
    ...missing.map(({ createdAt, record }) => ({ at: createdAt, shown: null, record })),
  ].toSorted((a, b) => b.at - a.at);
}
