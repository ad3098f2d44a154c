// Messages from subscribers, inside the transaction that is committed before they are acknowledged.
// Parts are kept until the message is whole. Then it is given to the workspace whose number it was written to, and a word
// such as STOP counts for every workspace that sends from that number.

import { newId } from "../../../platform/uuid.ts";
import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import type { InboundKey, InboundPartRow } from "./store.ts";
import { answerHelp, type InboundDeps } from "./help.ts";
import { readKeyword } from "./keywords.ts";
import { type InboundPart, type InboundText, readPart, reassemble } from "../encoding/reassemble.ts";
import type { ReadyWork } from "../queue/segment-read-store.ts";

/** A message to a shared number is for the workspace that sent to the subscriber last, within so much. */
const ANSWER_MS = 72 * 3_600_000;
/** A workspace that texted from a number within so much is stopped by a STOP to it. */
const USED_MS = 90 * 86_400_000;

interface Whole {
  route: string;
  source: string;
  destination: string;
  text: InboundText;
  raw: Buffer | null;
  now: number;
}

/** A message, or a part of one, that came by a link of the route; the work that it makes. */
export function receiveMessage(route: string, message: Inbound, now: number, deps: InboundDeps): ReadyWork[] {
  const { esmClass, dataCoding, shortMessage, messagePayload, sar } = message;
  const bytes = shortMessage.length > 0 ? shortMessage : (messagePayload ?? shortMessage);
  const part = readPart({ esmClass, dataCoding, message: bytes, sar });
  const from = { route, source: message.source.address, destination: message.destination.address };
  if (part.place === null) {
    const text = reassemble([part], true, getCharset(route, deps)) ?? { text: null, missing: [] };
    return takeWhole({ ...from, text, raw: text.text === null ? bytes : null, now }, deps);
  }
  const { scheme, reference, total, seq } = part.place;
  const key: InboundKey = { ...from, scheme, reference, total };
  const { alphabet, userData } = part;
  deps.sms.inbound.insertPart({
    ...key,
    seq,
    dataCoding,
    alphabet,
    payload: Buffer.from(userData),
    receivedAt: now,
  });
  return finishMessage(key, { isOver: false, now }, deps);
}

/** Makes a message of its parts, when all are there or no more are waited for; the work that it makes. */
export function finishMessage(key: InboundKey, when: { isOver: boolean; now: number }, deps: InboundDeps): ReadyWork[] {
  const rows = deps.sms.inbound.listParts(key);
  const text = reassemble(rows.map(toPart), when.isOver, getCharset(key.route, deps));
  if (text === null) return [];
  deps.sms.inbound.removeParts(key);
  const { route, source, destination } = key;
  const raw = text.text === null ? Buffer.concat(rows.map(({ payload }) => payload)) : null;
  return takeWhole({ route, source, destination, text, raw, now: when.now }, deps);
}

function toPart({ scheme, reference, total, seq, dataCoding, alphabet, payload }: InboundPartRow): InboundPart {
  return { place: { scheme, reference, total, seq }, dataCoding, alphabet, userData: payload };
}

function getCharset(route: string, { routes }: InboundDeps) {
  return routes.get(route)?.config.defaultCharset ?? "gsm7";
}

function takeWhole({ route, source, destination, text, raw, now }: Whole, deps: InboundDeps): ReadyWork[] {
  const subscriber = deps.numbering.toE164(source);
  const own = [destination, ...listAliases(route, destination, deps)].flatMap((each) => listForms(each, deps));
  const workspaceId = findOwner(subscriber, own, now, deps);
  deps.sms.inbound.insert({
    uid: newId(now, deps.random),
    workspaceId,
    route,
    sender: subscriber,
    recipient: destination,
    body: text.text ?? "",
    isWhole: text.missing.length === 0,
    raw,
    receivedAt: now,
  });
  const keyword = text.text === null ? null : readKeyword(text.text);
  if (keyword === null) return [];
  if (keyword === "help")
    return workspaceId === null ? [] : answerHelp({ workspaceId, from: subscriber, to: own, route, now }, deps);
  const used = own.flatMap((name) => deps.sms.messages.textedFrom(subscriber, name, now - USED_MS));
  const concerned = new Set([...used.map((each) => each.workspaceId), ...(workspaceId === null ? [] : [workspaceId])]);
  for (const each of concerned) applyKeyword(keyword, each, { address: subscriber, now }, deps);
  return [];
}

/** The sender ids that the route's SMSC knows by this name. */
function listAliases(route: string, destination: string, deps: InboundDeps): string[] {
  const senders = deps.routes.get(route)?.config.senders ?? [];
  return senders.filter(({ as }) => listForms(destination, deps).includes(as)).map(({ name }) => name);
}

/** A sender id may stand with or without its `+`, a long number also with its country code or not. */
function listForms(destination: string, { numbering }: Pick<InboundDeps, "numbering">): string[] {
  const digits = destination.replace(/^\+/, "");
  const international = numbering.toE164(destination).replace(/^\+/, "");
  return [...new Set([destination, digits, `+${digits}`, international, `+${international}`])];
}

function findOwner(subscriber: string, own: string[], now: number, deps: InboundDeps): number | null {
  const owners = new Set(own.flatMap((name) => deps.senderIds.listOwners(name)));
  if (owners.size <= 1) return [...owners][0] ?? null;
  const texted = own
    .flatMap((name) => deps.sms.messages.textedFrom(subscriber, name, now - ANSWER_MS))
    .filter(({ workspaceId }) => owners.has(workspaceId))
    .toSorted((a, b) => b.lastAt - a.lastAt);
  return texted[0]?.workspaceId ?? null;
}

function applyKeyword(
  keyword: "opt_out" | "opt_in",
  workspaceId: number,
  { address, now }: { address: string; now: number },
  { suppressions }: InboundDeps,
): void {
  const of = { workspaceId, channel: "sms", address } as const;
  if (keyword === "opt_out") suppressions.insert({ ...of, reason: "opt_out", createdAt: now });
  // What the workspace put on its list itself stays there.
  else if (suppressions.find(of)?.reason === "opt_out") suppressions.delete(of);
}
