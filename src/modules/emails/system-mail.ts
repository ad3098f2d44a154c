// pombo's own mail: invitations and links to sign in. It takes the way of all email, as that of workspace 0, which nobody
// has: no list shows it, it has no quota, and what becomes of it changes no workspace's rates or suppressions.

import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import type { Context } from "../../platform/context.ts";
import { newId } from "../../platform/uuid.ts";
import { returnPath } from "../../protocols/dsn/return-path.ts";
import { comparableAddress, parseAddress, requireMailbox } from "../../protocols/mime/address.ts";
import type { UsageStore } from "../plans/store.ts";
import { packBody } from "./content/body.ts";
import type { FindTransport } from "./delivery/transport.ts";
import type { QueueStore } from "./queue/store.ts";
import { type EmailStore, USUAL } from "./store/store.ts";

export interface SystemMail {
  /** An address, without a name. */
  to: string;
  /** The address that it comes from; its return path is then of the same host. Default: the configured one. */
  from?: string;
  /** Where its bounces go to, and what SPF is asked for; default: the host of `from`. */
  returnHost?: string;
  /** An address; default: that which it comes from. */
  replyTo?: string | null;
  subject: string;
  text: string;
  /** It is of no use later, Unix ms; default: it is tried as long as other mail. */
  until?: number;
}

/** Inside a transaction, with which it is queued. False: there is no address to send it from, and nothing is sent. */
export type SendSystemMail = (mail: SystemMail) => boolean;

/** The same; the email's id, or null. */
export type QueueSystemMail = (mail: SystemMail) => string | null;

export interface SystemMailDeps extends Pick<Context, "clock" | "random"> {
  emails: Pick<EmailStore, "insert" | "addTotal">;
  queue: Pick<QueueStore, "laneFor" | "add">;
  usage: Pick<UsageStore, "takeStorage">;
  findTransport: FindTransport;
  /** Inside a transaction: calls `notify` after its commit. */
  afterCommit: (notify: () => void) => void;
  nudge: (laneId: number, dueAt: number, expiresAt?: number) => void;
  /** An address; null: none. */
  from: string | null;
  settings: { bounceHost: string; lifetimeMs: number; returnPathKey: Uint8Array };
}

const NAME = "pombo";
const OWNER = { workspaceId: SYSTEM_WORKSPACE_ID, domainId: 0 };
const UNLIMITED = -1;

export function createSystemMail(deps: SystemMailDeps): QueueSystemMail {
  const { emails, queue, usage, clock, random, settings } = deps;
  return ({ to, subject, text, from = deps.from, until = Infinity, returnHost, replyTo = null }) => {
    if (from === null) return null;
    const sender = requireMailbox(parseAddress(from));
    const bounceHost = returnHost ?? (from === deps.from ? settings.bounceHost : sender.domain);
    const recipient = requireMailbox(parseAddress(to));
    const recipientAddress = comparableAddress(recipient);
    const now = clock.now();
    const uid = newId(now, random);
    const body = packBody({ html: null, text });
    const id = emails.insert({
      ...USUAL,
      ...OWNER,
      uid,
      sender: `${NAME} <${from}>`,
      senderAddress: comparableAddress(sender),
      senderDomain: sender.domain,
      recipient: to,
      recipientAddress,
      subject,
      replyTo,
      returnPath: returnPath({ id: uid, recipient: recipientAddress }, bounceHost, settings.returnPathKey),
      createdAt: now,
      body,
    });
    emails.addTotal({ ...OWNER, status: "queued" }, 1);
    // Given back when the content is removed.
    usage.takeStorage(OWNER.workspaceId, body.content.length, UNLIMITED);
    const laneId = queue.laneFor(OWNER.workspaceId, deps.findTransport(sender.domain).siteFor(recipient.domain));
    const expiresAt = Math.min(now + settings.lifetimeMs, until);
    queue.add({ ...OWNER, id, laneId, createdAt: now, nextAt: now, expiresAt });
    deps.afterCommit(() => deps.nudge(laneId, now, expiresAt));
    return uid;
  };
}
