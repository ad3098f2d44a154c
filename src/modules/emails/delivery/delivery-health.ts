// Derives health issues from delivery results: port 25 is closed, receivers distrust this server, a relay shuts us out.

import type { Clock } from "../../../platform/clock.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
import { redact } from "../../../platform/log.ts";
import { BEFORE_MAIL } from "../../../protocols/smtp/replies/stage.ts";
import type { DeliveryResult, Transmitted } from "./transport.ts";

/** One or two sites may be down; with so many, and none that answers, it is the way out. */
const MIN_UNREACHABLE = 3;
/** More are not remembered, only counted. */
const MAX_UNREACHABLE = 1_000;

const WINDOW_MS = 60 * 60_000;
const BUCKET_MS = 60_000;
/** Fewer refusals say nothing, whatever their share. */
const MIN_REFUSED = 10;
const REFUSED_SHARE = 0.1;
const REPUTATION = new Set(["spam_block", "spam_content"]);

interface Bucket {
  /** Unix ms of its beginning. */
  at: number;
  answers: number;
  refused: number;
}

export class DeliveryHealth {
  readonly #clock: Pick<Clock, "now">;
  /** By egress, "" being this machine's own addresses: sites that could not be connected to since one last could. */
  readonly #unreachable = new Map<string, { sites: Set<string>; since: number }>();
  /** The answers of the past hour. */
  readonly #buckets: Bucket[] = [];
  #lastRefusal = "";
  #refusedSince: number | null = null;
  /** Relays whose last attempt to begin a session failed, by name. */
  readonly #relays = new Map<string, { reason: string; since: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * Counts a result; a relay's says nothing about port 25 or about what recipients' servers think of us.
   * `recipient`: whom a relay's words must not name, as /ready needs no key.
   */
  note(result: DeliveryResult, recipient: string): void {
    if (result.kind !== "transmitted" || result.isCutOff) return;
    if (!result.isDirect) return this.#noteRelay(result, recipient);
    const { failure, site, egress } = result;
    if (failure !== null && !failure.isReached) {
      if (failure.verdict.category === "no_answer") this.#noteUnreachable(egress ?? "", site);
      return;
    }
    this.#unreachable.delete(egress ?? "");
    const bucket = this.#openBucket();
    bucket.answers += 1;
    if (failure === null || !REPUTATION.has(failure.verdict.category)) return;
    bucket.refused += 1;
    const { smtpCode, enhancedCode } = failure.verdict;
    this.#lastRefusal = [site, smtpCode, enhancedCode].filter((word) => word !== null).join(" ");
  }

  get issues(): HealthIssue[] {
    const refused = this.#findRefused();
    return [...this.#listUnreachable(), ...(refused === null ? [] : [refused]), ...this.#listRelays()];
  }

  #noteRelay({ failure, site, transmission: { result } }: Transmitted, recipient: string): void {
    const isLetIn = failure === null || (failure.isReached && "stage" in result && !BEFORE_MAIL.has(result.stage));
    if (isLetIn) {
      this.#relays.delete(site);
      return;
    }
    // The relay answered and takes no session now (421): that passes, and says nothing of what the operator configured.
    if (failure.isReached && result.kind !== "broken") return;
    const since = this.#relays.get(site)?.since ?? this.#clock.now();
    this.#relays.set(site, { reason: redact(failure.reason, recipient), since });
  }

  #listRelays(): HealthIssue[] {
    return [...this.#relays].map(([site, { reason, since }]) => ({
      component: "relay",
      kind: site,
      reason: `Emails do not leave by a relay: ${reason}. They wait, and are tried again.`,
      since,
      isAdvisory: true,
    }));
  }

  #noteUnreachable(egress: string, site: string): void {
    const known = this.#unreachable.get(egress) ?? { sites: new Set<string>(), since: this.#clock.now() };
    if (known.sites.size < MAX_UNREACHABLE) known.sites.add(site);
    this.#unreachable.set(egress, known);
  }

  #listUnreachable(): HealthIssue[] {
    const many = [...this.#unreachable].filter(([, { sites }]) => sites.size >= MIN_UNREACHABLE);
    return many.map(([egress, { sites, since }]) => ({
      component: "delivery",
      kind: egress === "" ? "unreachable" : `unreachable.${egress}`,
      reason: egress === "" ? describeClosed(sites.size) : describeClosedBehind(egress, sites.size),
      since,
      isAdvisory: true,
    }));
  }

  #findRefused(): HealthIssue | null {
    const after = this.#clock.now() - WINDOW_MS;
    let answers = 0;
    let refused = 0;
    for (const bucket of this.#buckets) {
      if (bucket.at <= after) continue;
      answers += bucket.answers;
      refused += bucket.refused;
    }
    if (refused < MIN_REFUSED || refused < answers * REFUSED_SHARE) {
      this.#refusedSince = null;
      return null;
    }
    this.#refusedSince ??= this.#clock.now();
    const reason =
      `${refused} of ${answers} emails were refused as spam or for this server's reputation in the past hour, last by ${this.#lastRefusal}. ` +
      "See what was sent (pombo trace), suspend who sends it, and check that this server's PTR, SPF and DKIM are right and that its address is on no blocklist.";
    return { component: "delivery", kind: "refused", reason, since: this.#refusedSince, isAdvisory: true };
  }

  #openBucket(): Bucket {
    const now = this.#clock.now();
    const at = now - (now % BUCKET_MS);
    const last = this.#buckets.at(-1);
    if (last?.at === at) return last;
    const made = { at, answers: 0, refused: 0 };
    this.#buckets.push(made);
    if (this.#buckets.length > WINDOW_MS / BUCKET_MS + 1) this.#buckets.shift();
    return made;
  }
}

function describeClosed(sites: number): string {
  return (
    `No mail server can be reached on port 25: ${sites} sites were tried and none answered. Most likely your hosting provider ` +
    'closes this port; ask it to open port 25 outwards, or send through a relay ([email] transport = "relay"). What waits is tried again.'
  );
}

function describeClosedBehind(egress: string, sites: number): string {
  return (
    `By the egress ${egress} no mail server can be reached on port 25: ${sites} sites were tried and none answered. Most likely the hosting ` +
    "provider of its address closes this port; ask it to open port 25 outwards. What waits is tried again."
  );
}
