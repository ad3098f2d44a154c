// The commands of programs that hand in mail. AUTH names the caller; MAIL looks at the key, the blocks and the rate again;
// RCPT refuses who cannot get it; the message is read and accepted by emails, as a request is, and 250 comes after the commit.
// The sender that MAIL names is not used: the field From decides.

import type { SMTPServerAddress, SMTPServerAuthentication, SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import { AppError } from "../../platform/errors.ts";
import type { Context } from "../../platform/context.ts";
import type { DiskGuard } from "../../platform/db/disk-guard.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import { isKeyForm, type Caller, type VerifyKey } from "../../platform/http/auth.ts";
import { ThreadGone } from "../../platform/worker-threads/worker-thread.ts";
import { comparableAddress, type Mailbox, parseAddress } from "../../protocols/mime/address.ts";
import type { Client } from "../../protocols/smtp/server/client.ts";
import type { MessageBudget } from "../emails/delivery/message-budget.ts";
import type { Emails } from "../emails/index.ts";
import { explainSuppression } from "../emails/api/check-send.ts";
import { findRefusal, type Standing } from "../plans/sending-refusal.ts";
import type { SharedLimits } from "../plans/shared-limits.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import { Intake } from "./intake.ts";
import type { SubmissionLimits } from "./limits.ts";
import { RefusalLog } from "./refusal-log.ts";
import {
  AUTH_FIRST,
  KEY_GONE,
  refusal,
  type Refusal,
  refuseWithoutTls,
  tooLarge,
  toRefusal,
  WRONG_KEY,
} from "./replies.ts";

type KeyCaller = Extract<Caller, { kind: "key" }>;

/** A client, beyond its connection. */
export interface Submitter {
  client: Client<{ release(): void }>;
  /** One word for its address, as failures are counted by. */
  network: string;
  /** Null: it has not authenticated. */
  key: string | null;
  caller: KeyCaller | null;
}

export interface SubmissionCounts {
  accepted(emails: number): void;
  refused(code: number): void;
  authFailed(): void;
}

export interface SessionDeps extends Pick<Context, "clock" | "log"> {
  verifyKey: VerifyKey;
  emails: Pick<Emails, "readSubmitted" | "acceptSubmission">;
  suppressions: Pick<SuppressionStore, "reasonFor">;
  workspaces: { byId(id: number): (Standing & { uid: string }) | undefined };
  guard: Pick<DiskGuard, "blockedReason">;
  shared: SharedLimits;
  budget: Pick<MessageBudget, "take">;
  limits: SubmissionLimits;
  counts: SubmissionCounts;
  /** Collects garbage, which takes some 20 ms. */
  collect: () => void;
  /** In the sandbox a password goes without TLS too: nothing leaves the machine. */
  mayAuthenticateInClear: boolean;
}

const NO_STORAGE = "4.3.1 Nothing can be accepted now, come back in a moment";
const INTERNAL = "4.3.0 An internal error occurred; the operator's log has the details. Come back later";

/** The result of a command: null, or a refusal. `isEnd`: the session ends too. */
type Decision = null | { refusal: Refusal; isEnd?: boolean };

export class SubmissionSession {
  readonly #deps: SessionDeps;
  readonly #refusals: RefusalLog;
  /** As RCPT has parsed them. */
  readonly #recipients = new WeakMap<SMTPServerAddress, Mailbox>();

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#refusals = new RefusalLog(deps);
  }

  /** Null: it is who its password says. */
  authenticate({ password }: SMTPServerAuthentication, submitter: Submitter): Refusal | null {
    const { verifyKey, shared, clock, counts } = this.#deps;
    const key = (password ?? "").trim();
    const caller = isKeyForm(key) ? verifyKey(key) : null;
    if (caller?.kind === "key") {
      submitter.key = key;
      submitter.caller = caller;
      submitter.client.stays();
      return null;
    }
    counts.authFailed();
    this.#refusals.wrongPassword(submitter.network, key);
    const waitMs = shared.failures?.take(submitter.network, clock.now()) ?? 0;
    if (waitMs <= 0 || shared.failures === null) return this.#count(refusal(535, WRONG_KEY), submitter);
    const seconds = shared.failures.wholeSeconds(waitMs);
    return this.#count(
      refusal(421, `4.7.0 Wait ${seconds} s: too many wrong passwords came from this address`),
      submitter,
    );
  }

  /** MAIL: calls `done`, or ends the session. */
  beginMessage(session: SMTPServerSession, submitter: Submitter, done: (why: Error | null) => void): void {
    const decision = this.#decide(submitter, () => this.#refuseMail(session, submitter));
    if (decision?.isEnd === true) submitter.client.leave(decision.refusal.responseCode, decision.refusal.message);
    else done(decision?.refusal ?? null);
  }

  /** RCPT. Null: it gets the message. */
  addRecipient(recipient: SMTPServerAddress, submitter: Submitter): Error | null {
    return this.#decide(submitter, () => this.#refuseRecipient(recipient, submitter.caller))?.refusal ?? null;
  }

  /** Calls `done` once, after the final dot; not at all when the connection ends before. */
  receive(
    stream: SMTPServerDataStream,
    { session, submitter }: { session: SMTPServerSession; submitter: Submitter },
    done: (why: Error | null, words?: string) => void,
  ): void {
    const { client, caller } = submitter;
    const { limits, collect } = this.#deps;
    const intake = new Intake(
      { workspaceId: caller?.workspaceId ?? 0, declaredBytes: readDeclaredSize(session) },
      this.#deps,
    );
    client.startsMessage();
    this.#collect(stream, intake, client);
    // Broken off: nothing of it was taken, and nobody waits for a reply.
    stream.on("error", () => intake.letGo());
    stream.on("close", () => {
      if (!stream.readableEnded) intake.letGo();
    });
    stream.on("end", () => {
      client.waits();
      void this.#accept(intake, session, submitter).then(({ refusal: why, isEnd, words }) => {
        // Its garbage must be gone before the next one has its room: it would pile up to hundreds of megabytes.
        if (intake.receivedBytes >= limits.worthCollectingBytes) collect();
        intake.letGo();
        client.isAnswered();
        if (why === null) client.forgetErrors();
        if (isEnd === true && why !== null) client.leave(why.responseCode, why.message);
        else done(why, words);
      });
    });
  }

  #collect(stream: SMTPServerDataStream, intake: Intake, client: Submitter["client"]): void {
    const { limits } = this.#deps;
    let nextPace = limits.paceBytes;
    const add = (piece: Uint8Array) => {
      intake.add(piece);
      if (intake.receivedBytes >= nextPace) {
        nextPace = intake.receivedBytes + limits.paceBytes;
        client.keepsPace();
      }
      // Some listen only at the end; for their sake so much is read in vain.
      if (intake.receivedBytes <= 2 * limits.messageBytes) return;
      stream.removeAllListeners("data");
      stream.resume();
      client.leave(552, tooLarge(limits.messageBytes));
    };
    stream.on("data", (piece: Uint8Array) => {
      if (intake.hasRoomFor(piece.length)) return add(piece);
      stream.pause();
      // Its octets are in the sockets meanwhile: the client is slowed down.
      void intake.waitForRoom().then(() => {
        add(piece);
        stream.resume();
      });
    });
  }

  #refuseMail({ secure }: SMTPServerSession, submitter: Submitter): Decision {
    const { verifyKey, workspaces, guard, shared, clock, mayAuthenticateInClear } = this.#deps;
    if (!secure && !mayAuthenticateInClear) return { refusal: refuseWithoutTls() };
    const { key, caller } = submitter;
    if (key === null || caller === null) return { refusal: refusal(530, AUTH_FIRST) };
    if (verifyKey(key)?.kind !== "key") return { refusal: refusal(535, KEY_GONE), isEnd: true };
    if (guard.blockedReason !== null) return { refusal: refusal(452, NO_STORAGE) };
    const blocked = findRefusal(workspaces.byId(caller.workspaceId));
    if (blocked !== null) return { refusal: toRefusal(blocked, clock.now()) };
    const waitMs = shared.sends?.take(caller.workspaceId, clock.now()) ?? 0;
    if (waitMs <= 0 || shared.sends === null) return null;
    const seconds = shared.sends.wholeSeconds(waitMs);
    return { refusal: refusal(451, `4.7.1 Too many messages of this workspace at once: come back in ${seconds} s`) };
  }

  #refuseRecipient(recipient: SMTPServerAddress, caller: KeyCaller | null): Decision {
    if (caller === null) return { refusal: refusal(530, AUTH_FIRST) };
    const parsed = parseAddress(recipient.address);
    if (parsed.kind === "fault") return { refusal: refusal(553, `5.1.3 ${parsed.message}`) };
    const comparable = comparableAddress(parsed.mailbox);
    const reason = this.#deps.suppressions.reasonFor(caller.workspaceId, comparable);
    if (reason !== null) {
      const words = `5.1.1 The recipient is suppressed (${reason}): ${explainSuppression(comparable, undefined)}`;
      return { refusal: refusal(550, words) };
    }
    this.#recipients.set(recipient, parsed.mailbox);
    return null;
  }

  /** Never rejects. */
  async #accept(
    intake: Intake,
    session: SMTPServerSession,
    submitter: Submitter,
  ): Promise<{ refusal: Refusal | null; isEnd?: boolean; words?: string }> {
    const { limits, counts, clock, log } = this.#deps;
    const { fault } = intake;
    const refuse = (code: number, words: string) => this.#count(refusal(code, words), submitter);
    if (fault === "too_large") return { refusal: refuse(552, tooLarge(limits.messageBytes)) };
    if (fault === "more_than_declared")
      return { refusal: refuse(552, "5.3.4 The message is larger than its SIZE said") };
    if (fault === "no_room")
      return { refusal: refuse(452, "4.3.1 Too many large messages come in now: come back in a moment") };
    const { promise, resolve } = Promise.withResolvers<"late">();
    let isAwaited = true;
    const cancel = clock.after(limits.acceptMs, () => {
      isAwaited = false;
      resolve("late");
    });
    try {
      const keeping = this.#keep(intake, { session, submitter, isAwaited: () => isAwaited });
      const accepted = await Promise.race([keeping, promise]);
      if (accepted === "late") return { refusal: refuse(451, INTERNAL) };
      counts.accepted(accepted.count);
      const { id, count } = accepted;
      return { refusal: null, words: `2.0.0 Accepted: ${id}${count === 1 ? "" : ` (${count} recipients)`}` };
    } catch (error) {
      const why = this.#count(explainError(error, clock.now()), submitter);
      if (why.responseCode === 451 && !isStorageError(error) && !(error instanceof ThreadGone))
        log.error("submission", error);
      return { refusal: why, isEnd: why.responseCode === 535 };
    } finally {
      cancel();
    }
  }

  async #keep(intake: Intake, given: { session: SMTPServerSession; submitter: Submitter; isAwaited: () => boolean }) {
    const { emails, verifyKey } = this.#deps;
    const { session, isAwaited } = given;
    const { key, caller } = given.submitter;
    if (caller === null || key === null) throw refusal(530, AUTH_FIRST);
    const message = await emails.readSubmitted(intake.end());
    if (message.kind === "fault")
      throw message.fault === "from"
        ? refusal(550, `5.7.1 ${message.message}`)
        : refusal(554, `5.6.0 ${message.message}`);
    // It may have been deleted while the message came, which can take minutes.
    if (verifyKey(key)?.kind !== "key") throw refusal(535, KEY_GONE);
    const recipients = session.envelope.rcptTo.flatMap((each) => this.#recipients.get(each) ?? []);
    return emails.acceptSubmission({ caller, recipients, message, isAwaited });
  }

  #decide(submitter: Submitter, decide: () => Decision): Decision {
    try {
      const decision = decide();
      if (decision !== null) this.#count(decision.refusal, submitter);
      return decision;
    } catch (error) {
      if (!isStorageError(error)) this.#deps.log.error("submission", error);
      return { refusal: this.#count(explainError(error, this.#deps.clock.now()), submitter) };
    }
  }

  #count(why: Refusal, { caller, network }: Submitter): Refusal {
    const { counts, workspaces } = this.#deps;
    counts.refused(why.responseCode);
    try {
      const workspace = caller === null ? undefined : workspaces.byId(caller.workspaceId);
      if (workspace !== undefined) this.#refusals.refused(why, workspace.uid, network);
    } catch (error) {
      // A storage that cannot be read may be why it is refused: the client hears of it all the same.
      if (!isStorageError(error)) this.#deps.log.error("submission", error);
    }
    return why;
  }
}

function explainError(error: unknown, now: number): Refusal {
  if (error instanceof AppError) return toRefusal(error, now);
  if (error instanceof Error && "responseCode" in error) return error as Refusal;
  return isStorageError(error) ? refusal(452, NO_STORAGE) : refusal(451, INTERNAL);
}

/** RFC 1870 §4. Null: none is given. */
function readDeclaredSize({ envelope }: SMTPServerSession): number | null {
  const { args } = envelope.mailFrom === false ? { args: {} } : envelope.mailFrom;
  const { SIZE: size } = args as { SIZE?: unknown };
  return typeof size === "string" && /^\d{1,15}$/.test(size) ? Number(size) : null;
}
