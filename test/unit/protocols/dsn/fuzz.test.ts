import { expect, test } from "bun:test";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { seeded } from "../../../support/db/temporary.ts";
import { bounceSamples, complaintSamples, isCorpusHere } from "../../../support/dsn/corpus.ts";
import { group, mail, report } from "../../../support/dsn/mails.ts";
import { cpuTime } from "../../../support/cpu-time.ts";

// Whatever comes, an answer comes back, soon. ROUNDS and SEED make it longer, and the same again.

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const PER_ROUND = 200;
const LIMIT_MS = 2_000;
const KINDS = ["bounce", "delayed", "complaint", "auto_reply", "unknown"];

/** Words that mean something to the parser, to be put in anywhere. */
const PIECES = [
  "\r\n",
  "\n\n",
  "--",
  "boundary=",
  "Content-Type: multipart/report; report-type=delivery-status; boundary=x\r\n",
  "Content-Type: message/delivery-status\r\n\r\n",
  "Content-Type: message/feedback-report\r\n\r\n",
  "Content-Type: message/rfc822\r\n\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "Final-Recipient: rfc822;",
  "Action: failed\r\n",
  "Status: 5.1.1\r\n",
  "Diagnostic-Code: smtp; 550 5.1.1 ",
  "=?utf-8?B?",
  "?=",
  "550 5.1.1 user unknown",
  "<a@b.test>:",
  '{"notificationType":"Bounce","bounce":{"bouncedRecipients":[',
  "\0",
  "\u00ff\u00fe",
  "\u001b$B",
];

test(
  `mutated reports and random bytes never throw (SEED=${SEED})`,
  () => {
    const random = seeded(SEED);
    const below = (limit: number) => Math.floor(random() * limit);
    const corpus = isCorpusHere ? [...bounceSamples("raw"), ...complaintSamples()].map(({ bytes }) => bytes) : [];
    const sources = [...corpus, report({ groups: [group("5.1.1", "550 5.1.1 no")] }), mail({ text: "550 5.1.1 no" })];
    const pick = () => Buffer.from(sources[below(sources.length)] ?? new Uint8Array()).toString("latin1");
    const mutations: ((text: string) => string)[] = [
      (text) => text.slice(0, below(text.length)),
      (text) => text.slice(below(text.length)),
      (text) => change(text, String.fromCharCode(below(256)), 1),
      (text) => change(text, PIECES[below(PIECES.length)] ?? "", 0),
      (text) => change(text, pick().slice(0, below(4_000)), below(200)),
      (text) => change(text, text.slice(below(text.length)).slice(0, 2_000), 0),
      (text) => text.replaceAll("\r\n", "\n"),
      (text) => text.replaceAll("\n", random() < 0.5 ? "\r" : "\r\n"),
    ];
    function change(text: string, by: string, removed: number): string {
      const at = below(text.length + 1);
      return text.slice(0, at) + by + text.slice(at + removed);
    }

    for (let round = 0; round < ROUNDS * PER_ROUND; round++) {
      let text =
        random() < 0.1 ? Array.from({ length: below(3_000) }, () => String.fromCharCode(below(256))).join("") : pick();
      for (let n = below(8); n > 0; n--) text = mutations[below(mutations.length)]?.(text) ?? text;
      const startedAt = cpuTime();
      const read = parseReport(Buffer.from(text, "latin1"), "maria@example.com");
      expect(cpuTime() - startedAt).toBeLessThan(LIMIT_MS);
      expect(KINDS).toContain(read.kind);
      if (read.kind !== "bounce") continue;
      // A hard bounce is always permanent and of a hard category, and its words are fit to be shown.
      for (const each of [read, ...read.recipients]) {
        if (each.isHard)
          expect([
            each.isPermanent,
            ["invalid_recipient", "inactive_mailbox", "bad_domain"].includes(each.category),
          ]).toEqual([true, true]);
        expect(each.diagnostic ?? "").toMatch(/^[^\p{C}\p{Zl}\p{Zp}]{0,512}$/u);
      }
    }
  },
  (ROUNDS + 10) * 2_000,
);
