// `pombo doctor --send-test`: sends one real message over the way of all mail, keeps what is said over it for whoever
// watches, and looks for a reply to it. One at a time: another one takes its place.

import type { Clock } from "../../../platform/clock.ts";
import type { Context } from "../../../platform/context.ts";
import { validationError, notFound } from "../../../platform/http/errors.ts";
import { comparableAddress, parseAddress } from "../../../protocols/mime/address.ts";
import type { Resolver } from "../../../protocols/dns/lookup.ts";
import type { AttemptEvent, RunningAttempts } from "../../emails/delivery/running-attempts.ts";
import type { EmailStore } from "../../emails/store/store.ts";
import type { QueueSystemMail } from "../../emails/system-mail.ts";
import type { InboxStore } from "../../inbound-mail/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { DomainPicker } from "../domain-view.ts";
import { type QuotedResult, readQuotedResults } from "./quoted-results.ts";
import type { DoctorConfig } from "../world.ts";

/** It is of no use later. */
const LIFETIME_MS = 30 * 60_000;
/** Of its attempts; the first ones are kept. */
const MAX_LINES = 400;

export interface SendTestDeps {
  queueMail: QueueSystemMail;
  attempts: Pick<RunningAttempts, "watch">;
}

export interface SendTestStores {
  emails: Pick<EmailStore, "findStateByUid">;
  suppressions: Pick<SuppressionStore, "reasonFor">;
  inbox: Pick<InboxStore, "findFrom">;
}

interface Deps extends SendTestDeps, SendTestStores {
  commit: Context["commit"];
  clock: Pick<Clock, "now">;
  config: DoctorConfig;
  picker: Pick<DomainPicker, "all" | "named" | "ownerOf">;
  fresh: (preferred: number) => Pick<Resolver, "mx">;
  isStarted: () => boolean;
}

export interface TestLine {
  attempt: number;
  /** Since the attempt began; null: not known. */
  ms: number | null;
  by: "connect" | "client" | "server" | "note";
  text: string;
}

export interface TestState {
  /** Of the email, for pombo trace. */
  id: string;
  from: string;
  to: string;
  status: "waiting" | "delivered" | "failed";
  /** Why it waits or failed; null: nothing was said. */
  reason: string | null;
  lines: TestLine[];
  /** Null: none has come yet, or none can. */
  reply: { results: QuotedResult[] } | null;
  /** Where replies are to go; null: [inbound] takes no mail. */
  replyTo: string | null;
}

export interface SendTest {
  /** Throws AppError where it is not to be sent. */
  begin(to: string, domain: string | null): Promise<TestState>;
  /** How the last one goes; null: there was none. */
  show(): TestState | null;
  stop(): void;
}

interface Running extends Pick<TestState, "id" | "from" | "to" | "replyTo" | "lines"> {
  startedAt: number;
  end: () => void;
}

export function createSendTest(deps: Deps): SendTest {
  const { commit, clock, config, queueMail, attempts, emails } = deps;
  let running: Running | null = null;
  const show = () => (running === null ? null : describe(running, deps));
  return {
    show,
    stop: () => running?.end(),
    async begin(text, domain) {
      // It would wait in the queue, and nobody would see it go.
      if (!deps.isStarted()) throw notFound("No instance runs that could send it", "Start it: systemctl start pombo");
      const to = readRecipient(text);
      const sender = findSender(domain, deps);
      await refuseOwn(to.domain, deps);
      refuseSuppressed(to.address, sender.workspaceId, deps);
      const replyTo = config.inbound.listen === null ? null : `postmaster@${config.email.bounceHost}`;
      const startedAt = clock.now();
      const lines: TestLine[] = [];
      const { hostname } = config;
      const mail = { ...sender, to: to.address, replyTo, subject: `Test from pombo at ${hostname}` };
      const until = startedAt + LIFETIME_MS;
      const next = await commit(() => {
        const id = queueMail({ ...mail, text: writeText(hostname, replyTo), until }) ?? "";
        const emailId = emails.findStateByUid(id)?.email.id ?? 0;
        // Before the commit, after which its attempt may be over at once.
        return { id, end: attempts.watch(emailId, (event) => note(event, lines)) };
      });
      running?.end();
      running = { ...next, from: sender.from, to: to.address, replyTo, startedAt, lines };
      return describe(running, deps);
    },
  };
}

function note(event: AttemptEvent, lines: TestLine[]): void {
  if (lines.length >= MAX_LINES) return;
  const { attempt } = event;
  switch (event.kind) {
    case "attempt":
      return;
    case "dialogue":
      return void lines.push(...event.lines.map((line) => ({ attempt, ...line })));
    case "result": {
      const text = event.reason ?? "It was accepted.";
      return void lines.push({ attempt, ms: event.ms, by: "note", text });
    }
  }
}

function readRecipient(text: string): { address: string; domain: string } {
  const parsed = parseAddress(text);
  if (parsed.kind !== "mailbox") {
    const why = `${parsed.message.charAt(0).toLowerCase()}${parsed.message.slice(1)}`;
    throw validationError([{ path: ["to"], message: `is not a usable address: ${why}` }]);
  }
  return { address: comparableAddress(parsed.mailbox), domain: parsed.mailbox.domain };
}

interface Sender {
  from: string;
  returnHost?: string;
  /** Null: it is the instance's own mail. */
  workspaceId: number | null;
}

/** From the domain that is named, or the only one there is: mail of the host name itself proves least. */
function findSender(domain: string | null, { picker, config }: Deps): Sender {
  const view = domain === null ? onlyOne(picker.all()) : picker.named(domain);
  if (view === null && domain !== null)
    throw notFound("No workspace sends with this domain", "GET /api/v1/operator/domains lists all.");
  if (view === null) return { from: `pombo@${config.hostname}`, workspaceId: null };
  return { from: `pombo@${view.name}`, returnHost: view.returnPath.name, workspaceId: picker.ownerOf(view.name) };
}

function onlyOne<T>(all: readonly T[]): T | null {
  return all.length === 1 ? (all[0] ?? null) : null;
}

/** Mail to oneself goes over no network, and proves nothing. */
async function refuseOwn(domain: string, { config, fresh }: Deps): Promise<void> {
  const own = [config.hostname, config.email.bounceHost];
  const mx = own.includes(domain) ? null : await fresh(0).mx(domain);
  const hosts = mx?.kind === "found" ? mx.records.map(({ exchange }) => exchange) : [];
  if (!own.includes(domain) && !hosts.some((host) => own.includes(host))) return;
  throw validationError([
    {
      path: ["to"],
      message: "must not be an address of this server: name one elsewhere, such as at Gmail or Outlook.com",
    },
  ]);
}

function refuseSuppressed(address: string, workspaceId: number | null, { suppressions }: Deps): void {
  const reason = workspaceId === null ? null : suppressions.reasonFor(workspaceId, address);
  if (reason === null) return;
  throw validationError([
    {
      path: ["to"],
      message: `must not be suppressed, as this address is (${reason}): name another one, or have its workspace remove the suppression`,
    },
  ]);
}

function writeText(hostname: string, replyTo: string | null): string {
  const answer =
    replyTo === null
      ? ""
      : "\nAnswer this message, with what your program calls its source or headers pasted in: pombo reads what SPF, DKIM and\nDMARC said of it.\n";
  return `This is a test of pombo at ${hostname}: it went the way of all mail.\n${answer}`;
}

function describe({ id, from, to, replyTo, lines, startedAt }: Running, { emails, inbox }: Deps): TestState {
  const email = emails.findStateByUid(id)?.email;
  const status =
    email === undefined || !["queued", "sent", "delivered"].includes(email.status)
      ? "failed"
      : email.status === "queued"
        ? "waiting"
        : "delivered";
  const mail = replyTo === null ? undefined : inbox.findFrom(to, startedAt);
  const reply = mail === undefined ? null : { results: readQuotedResults(Bun.zstdDecompressSync(mail.content)) };
  return { id, from, to, status, reason: email?.failedReason ?? null, lines: [...lines], reply, replyTo };
}
