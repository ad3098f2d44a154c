// The providers of `script/bench replies`: a process of its own that takes mail on many loopback
// addresses, with TLS and pipelining, and answers each recipient as its domain is wont to. Chance is a
// function of the recipient and the number of the attempt, so that every run meets the same answers.
// What it answered to whom is told over HTTP on a second port.
//
// Run by bench/replies.ts: bun bench/reply-sink.ts <file with the JSON of a SinkOrder>

import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { createSecureContext } from "node:tls";
import { RELAY_CERTIFICATE } from "../test/support/fakes/certificates.ts";
import type { Answer, Habits } from "./replies/corpus.ts";
import { converse } from "./replies/conversation.ts";

export interface SinkOrder {
  port: number;
  tellPort: number;
  addresses: string[];
  habits: Record<string, Habits>;
}

/** What became of the attempts at one recipient, as the sink saw it. */
export interface Taken {
  attempts: number;
  accepted: number;
  /** Answered with 5xx. */
  refused: number;
}

export type SinkTally = Record<string, Taken>;

const order = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as SinkOrder;
const tally: SinkTally = {};
const secureContext = createSecureContext(RELAY_CERTIFICATE);

for (const address of order.addresses) {
  createServer((socket) => converse(socket, { secureContext, decide, note })).listen(order.port, address);
}
Bun.serve({ hostname: "127.0.0.1", port: order.tellPort, fetch: () => Response.json(tally) });

/** The answer to this attempt at a recipient; null accepts. */
function decide(recipient: string): Answer | null {
  const taken = (tally[recipient] ??= { attempts: 0, accepted: 0, refused: 0 });
  taken.attempts += 1;
  const habits = order.habits[recipient.slice(recipient.indexOf("@") + 1)];
  if (habits === undefined) return { code: 550, lines: ["5.7.1 Relaying denied"], stage: "rcpt" };
  const chance = chanceOf(`${recipient} ${taken.attempts}`);
  if (chance < habits.bounceOdds) return pick(habits.bounces, chance / habits.bounceOdds);
  const rest = chance - habits.bounceOdds;
  return rest < habits.deferOdds ? pick(habits.defers, rest / habits.deferOdds) : null;
}

/** The answer has been given. */
function note(recipient: string, code: number): void {
  const taken = tally[recipient];
  if (taken === undefined) return;
  if (code < 300) taken.accepted += 1;
  else if (code >= 500) taken.refused += 1;
}

function chanceOf(words: string): number {
  return Bun.hash.xxHash32(words) / 2 ** 32;
}

function pick(answers: Answer[], share: number): Answer | null {
  return answers[Math.floor(share * answers.length)] ?? null;
}
