import { DEFAULT_SMS_PREFIXES } from "../../../src/config/number-prefix.ts";
import { NumberingPlan } from "../../../src/modules/sms/encoding/phone-number.ts";
import type { Db } from "../../../src/platform/db/open.ts";
import type { NewMessage } from "../../../src/modules/sms/queue/message-store.ts";
import { openSmsStores, type SmsStores } from "../../../src/modules/sms/stores.ts";
import { openCreditStore, changeCredits } from "../../../src/modules/workspaces/credit-store.ts";
import { openWorkspaceStore } from "../../../src/modules/workspaces/store.ts";
import type { NewSegment } from "../../../src/modules/sms/queue/segment-read-store.ts";

// Messages and segments as acceptance would write them, for tests of the stores and of what moves them.

export const NUMBERING = new NumberingPlan(DEFAULT_SMS_PREFIXES);

export type Ledger = ReturnType<typeof openLedger>;

/** The stores of the texts, and of the credits that they change. */
export function openLedger(db: Db) {
  const workspaces = openWorkspaceStore(db);
  const credits = openCreditStore(db);
  return { workspaces, credits, ...openSmsStores(db, { workspaces, credits }) };
}

/** A workspace with credits, inside a transaction; its integer id. */
export function addWorkspace({ workspaces, credits }: Pick<Ledger, "workspaces" | "credits">, amount: number): number {
  count += 1;
  const { id } = workspaces.insert({ uid: `w${count}`, name: "Loja", plan: "scale", createdAt: 0 });
  changeCredits({ workspaceId: id, kind: "grant", amount, note: null, createdAt: 0 }, { workspaces, credits });
  return id;
}

let count = 0;

/** Writes a message of so many parts, inside a transaction; its integer id. */
export function addMessage(
  { messages, segments }: Pick<SmsStores, "messages" | "segments">,
  parts = 1,
  rest: { message?: Partial<NewMessage>; segment?: Partial<NewSegment> } = {},
): number {
  count += 1;
  const id = messages.insert({
    uid: `m${count}`,
    workspaceId: 1,
    recipient: "+258841234567",
    sender: "Loja",
    body: "x",
    sentText: null,
    encoding: "gsm7",
    alphabet: "gsm",
    segments: parts,
    expiresAt: 86_400_000,
    createdAt: 0,
    isHelp: false,
    keyId: null,
    userId: null,
    ...rest.message,
  });
  for (let seq = 1; seq <= parts; seq++) {
    segments.insert({
      messageId: id,
      seq,
      parts,
      workspaceId: rest.message?.workspaceId ?? 1,
      payload: Buffer.from("x"),
      reference: parts === 1 ? null : 7,
      umr: id,
      route: "vodacom",
      priority: "transactional",
      nextAt: 0,
      ...rest.segment,
    });
  }
  return id;
}
