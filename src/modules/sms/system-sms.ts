// pombo's own SMS: alerts. It takes the way of all SMS, as that of workspace 0, which nobody has: no list shows it, it takes
// no credits, and its events reach nobody.

import type { Context } from "../../platform/context.ts";
import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import { newId } from "../../platform/uuid.ts";
import { SENT_BY_NOBODY } from "../api-keys/sender-store.ts";
import { writeSegments } from "./api/accept.ts";
import { prepareText } from "./api/prepare.ts";
import type { Route } from "./gateway/route-settings.ts";
import type { ReadyWork } from "./queue/segment-read-store.ts";
import type { SmsStores } from "./stores.ts";

export interface SystemSms {
  /** E.164. */
  to: string;
  /** A sender id. */
  from: string;
  /** The name of a configured route. */
  route: string;
  text: string;
  /** Unix ms, and how long it is of use. */
  now: number;
  lifetimeMs: number;
}

/** Inside a transaction, with which it is queued; its id. Throws where there is no such route. */
export type SendSystemSms = (sms: SystemSms) => string;

export interface SystemSmsDeps extends Pick<Context, "random"> {
  sms: SmsStores;
  routes: ReadonlyMap<string, Route>;
  nudge: (work: ReadyWork) => void;
}

const PRIORITY = "transactional";

export function createSystemSms({ sms, routes, random, nudge }: SystemSmsDeps): SendSystemSms {
  return ({ to, from, route: name, text: body, now, lifetimeMs }) => {
    const route = routes.get(name)?.config;
    if (route === undefined) throw new Error(`no route ${name} is configured`);
    // Without its accents where that saves a segment.
    const text = prepareText(body, { coding: route, folding: "portuguese" });
    const uid = newId(now, random);
    const messageId = sms.messages.insert({
      uid,
      workspaceId: SYSTEM_WORKSPACE_ID,
      recipient: to,
      sender: from,
      body,
      sentText: text.sentText === body ? null : text.sentText,
      encoding: text.split.encoding,
      alphabet: text.split.alphabet,
      segments: text.segments,
      expiresAt: now + lifetimeMs,
      createdAt: now,
      isHelp: false,
      ...SENT_BY_NOBODY,
    });
    const work: ReadyWork = { route: name, priority: PRIORITY, workspaceId: SYSTEM_WORKSPACE_ID, nextAt: now };
    writeSegments(messageId, { item: { to, body }, text, work }, { sms });
    sms.afterCommit.run(() => nudge(work));
    return uid;
  };
}
