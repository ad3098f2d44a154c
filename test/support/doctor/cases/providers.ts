// The world broken for one finding at a time: what mail servers answered.

import { attempt, DOMAIN, type DoctorWorld, NOW } from "../world.ts";
import { type Case, DAY_MS, DMARC, failing, PTR, well, without } from "./kit.ts";

/** `count` more attempts at Gmail that went otherwise. */
function more(count: number, changes: Parameters<typeof attempt>[1]) {
  return ({ rows }: DoctorWorld) =>
    void rows.unshift(...Array.from({ length: count }, (_, at) => attempt(9_000 - at, changes)));
}

const since = NOW - 7 * DAY_MS;
const refused = (reply: string) => ({ outcome: "bounced" as const, code: 550, reply, category: "policy" });

/** In one day. */
const many = () =>
  Array.from({ length: 4_200 }, (_, at) => attempt(9_000 - at, { createdAt: NOW - DAY_MS, endedAt: NOW - DAY_MS }));

export const PROVIDER_CASES = {
  provider_delivery: [
    well(
      "all delivered",
      /google, 50 attempts in 7 days: 100 % delivered at the first try, half within 2 s, 0 deferred/,
    ),
    {
      name: "many refused for us",
      level: "problem",
      arrange: more(20, refused("5.7.1 no")),
      seen: /20 refused \(20 policy\)/,
    },
    {
      name: "many deferred",
      level: "warning",
      arrange: more(30, { outcome: "deferred", code: 451, category: "unknown" }),
      seen: /30 deferred/,
    },
    {
      name: "refusals that are about recipients",
      level: "ok",
      arrange: more(20, { outcome: "bounced", code: 550, category: "invalid_recipient" }),
      seen: /20 refused/,
    },
  ],
  provider_words: [
    well("nothing known", /nothing that is known/),
    {
      name: "Gmail's for SPF, today",
      level: "problem",
      arrange: more(1, refused("5.7.27 Your email has been blocked because the sender is unauthenticated")),
      seen: /google said 1 times that SPF did not pass: “5\.7\.27/,
    },
    {
      name: "Outlook's, days ago",
      level: "warning",
      arrange: more(2, {
        ...refused("5.7.515 Access denied"),
        host: "loja.mail.protection.outlook.com",
        createdAt: since + DAY_MS,
        endedAt: since + DAY_MS,
      }),
      seen: /outlook said 2 times that SPF, DKIM and DMARC must all pass/,
    },
    {
      name: "a stranger that borrows Gmail's words",
      level: "ok",
      arrange: more(1, { ...refused("5.7.27 as Gmail says"), host: "mx.stranger.example" }),
      seen: /nothing that is known/,
    },
  ],
  provider_volume: [
    well("few", /far below/),
    {
      name: "many in the first hour, which are no day's pace",
      level: "ok",
      arrange: ({ rows }) => {
        rows.length = 0;
        rows.push(...Array.from({ length: 200 }, (_, at) => attempt(9_000 - at, { createdAt: NOW, endedAt: NOW })));
      },
      seen: /About 200 emails a day go to Gmail/,
    },
    {
      name: "nearly as many as from which the bulk rules hold, and something is missing",
      level: "warning",
      arrange(world) {
        delete world.dns.zone[DMARC];
        world.rows = many();
      },
      seen: /About 4,200 emails a day go to Gmail: from 5,000 on/,
      step: /pombo doctor --only domains,spf,name/,
    },
    {
      name: "as many, and what pombo can check is met",
      level: "ok",
      arrange: (world) => void (world.rows = many()),
      seen: /About 4,200 emails a day go to Gmail: .* those that pombo can check are met\. Source: https:/,
    },
  ],
  provider_rules: [
    well("met", /What \w+.* asks of each sender is met, and of bulk senders too/),
    {
      name: "no PTR",
      level: "problem",
      arrange: without(PTR),
      seen: /What Gmail asks of each sender is not met: ptr of 203\.0\.113\.7/,
    },
    {
      name: "no DMARC, with few messages",
      level: "ok",
      arrange: without(DMARC),
      seen: /of each sender is met; for bulk senders this would be missing: dmarc of loja\.example/,
    },
    {
      name: "no DMARC, with many",
      level: "warning",
      arrange(world) {
        delete world.dns.zone[DMARC];
        world.rows = many();
      },
      seen: /What Gmail asks of senders of so much mail is not met: dmarc of loja\.example/,
    },
    failing("the PTR", PTR),
  ],
  complaints: [
    well("none", /0 of 50 delivered/),
    {
      name: "above 0.3 %",
      level: "problem",
      arrange: (world) => void (world.complaints = [{ senderDomain: DOMAIN, count: 2 }]),
      seen: /2 of 50 delivered emails of loja\.example were complained about \(4 %\)/,
    },
    {
      name: "above 0.1 %",
      level: "warning",
      arrange(world) {
        more(1_450, {})(world);
        world.complaints = [{ senderDomain: DOMAIN, count: 2 }];
      },
      seen: /0\.13 %/,
    },
    {
      name: "one person",
      level: "ok",
      arrange: (world) => void (world.complaints = [{ senderDomain: DOMAIN, count: 1 }]),
      seen: /1 of 50/,
    },
  ],
} satisfies Record<string, Case[]>;
