// What large mail providers answer, and how often: from a collection of real replies that lies beside
// the project and is not part of it. Its odds are per domain, in percent of all attempts.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findReaction, BLOCKED_CATEGORY } from "../../src/protocols/smtp/providers.ts";
import { classifyReply } from "../../src/protocols/smtp/replies/classify.ts";
import { readWhole } from "../../src/protocols/smtp/replies/remove-echo.ts";
import { makeReply } from "../../src/protocols/smtp/replies/reply.ts";

export const CORPUS = join(import.meta.dir, "../../../shared/corpora/replies/smart-sink-responses.toml");

/** One reply, and to what it is given: the recipient or the whole message. */
export interface Answer {
  code: number;
  lines: string[];
  stage: "rcpt" | "dot";
}

/** How a domain answers. The odds are shares of all attempts; the rest is accepted. */
export interface Habits {
  bounceOdds: number;
  deferOdds: number;
  bounces: Answer[];
  defers: Answer[];
}

/** Of domains of which the collection has odds but no words. */
const PLAIN_BOUNCES = [{ code: 550, msg: "5.1.1 No such user here" }];
const PLAIN_DEFERS = [
  { code: 451, msg: "4.3.2 Please try again later" },
  { code: 450, msg: "4.2.0 Greylisted" },
];
/** Words about the message or its sender come after the content, others at the recipient. */
const OF_MESSAGE =
  /polic|spam|unsolicited|suspicious|reputation|attachment|size|header|dmarc|not allowed|cannot be delivered/i;

interface Odds {
  bounce: number;
  defer: number;
}
type Samples = Record<string, { code: number; msg: string }[]>;
interface Collection {
  default: Odds;
  domain: Record<string, Odds>;
  bounce: Samples;
  defer: Samples;
}

/**
 * Reads the collection; the result says how a domain answers. `isCalm` leaves out the deferrals that ask
 * a sender to hold its mail back for minutes or hours, so that nothing but the retries is seen.
 */
export function readHabits(file: string, isCalm: boolean): (domain: string) => Habits {
  const collection = Bun.TOML.parse(readFileSync(file, "utf8")) as Collection;
  return (domain) => {
    const odds = collection.domain[domain] ?? collection.default;
    const answers = (samples: Samples, plain: { code: number; msg: string }[]): Answer[] => {
      const all = (samples[domain] ?? []).map(toAnswer).filter((answer) => !isCalm || !holdsMail(answer));
      return all.length > 0 ? all : plain.map(toAnswer);
    };
    return {
      bounceOdds: odds.bounce / 100,
      deferOdds: odds.defer / 100,
      bounces: answers(collection.bounce, PLAIN_BOUNCES),
      defers: answers(collection.defer, PLAIN_DEFERS),
    };
  };
}

/** Lines of some samples carry the code again, as they were cut from a log. */
function toAnswer({ code, msg }: { code: number; msg: string }): Answer {
  const again = new RegExp(`^${code}[ ,-]`);
  const lines = msg.split(/(?:\r?\n|\\r\\n)/).map((line) => line.trim().replace(again, ""));
  return { code, lines, stage: OF_MESSAGE.test(msg) && code !== 421 ? "dot" : "rcpt" };
}

/** pombo reacts to it by sending less or nothing for a long time. */
function holdsMail({ code, lines, stage }: Answer): boolean {
  const reply = readWhole(makeReply(code, lines));
  const isAnyReaction = ["mx.example.net", "mta5.am0.yahoodns.net", "mx01.mail.icloud.com"].some(
    (site) => findReaction(reply.words, site, code < 500) !== null,
  );
  return isAnyReaction || code === 421 || classifyReply(reply, stage).category === BLOCKED_CATEGORY;
}
