import { describe, expect, test } from "bun:test";
import { domainToUnicode } from "node:url";
import { parseAddress } from "../../../../../src/protocols/mime/address.ts";
import { classifyReply } from "../../../../../src/protocols/smtp/replies/classify.ts";
import type { Stage } from "../../../../../src/protocols/smtp/replies/stage.ts";
import { TEXT_RULES } from "../../../../../src/protocols/smtp/replies/rules.ts";
import { removeEcho, type SentMessage } from "../../../../../src/protocols/smtp/replies/remove-echo.ts";
import { findReaction } from "../../../../../src/protocols/smtp/providers.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";
import { seeded } from "../../../../support/smtp/helpers.ts";
import { cpuTime } from "../../../../support/cpu-time.ts";

// Servers repeat what they were sent, and who sends it chooses its words: they must not be taken for the server's.

/** Words that rules know: of each rule at least one. */
const PHRASES = [
  ...["too many connections", "sending rate", "message rate exceeded hourly", "max connections per ip", "rcp-p2"],
  ...["account closed due to inactivity", "temporarily locked", "blocked using spamhaus 1", "virus found"],
  ...["spam content", "looks like spam", "spam message", "dmarc", "no ptr", "on our block list", "untrusted ip"],
  ...["over quota", "relay denied", "sender unknown", "prohibited", "message too large", "access denied"],
  ...["syntax error", "message expired", "domain not found", "mailbox disabled", "user unknown", "no such user"],
  ...["casilla llena"],
  ...["account does not exist", "user has moved", "recipient address rejected: access denied", "address rejected"],
  ...["mailbox unavailable", "recipient rejected", "benutzer unbekannt", "connection lost", "timed out"],
  ...["temporarily deferred", "mail not accepted", "[TSS04]", "hcm1", "exceeded the maximum number of connections"],
  ...["5.7.1 blocked", "5.1.1 user unknown", "tls required"],
];

/** Addresses that the API takes, each with the words in it in another way. */
function recipients(): string[] {
  const found = PHRASES.flatMap((phrase) => {
    const words = phrase.replace(/[^a-z0-9. ]/gi, "").split(/[. ]+/);
    return [
      `"${phrase}"@example.net`,
      `"${phrase.toUpperCase()}"@example.net`,
      `"maria+${phrase}"@example.net`,
      `"${phrase}+x"@example.net`,
      `"${words.join('"').replace(/"/g, '\\"')}"@example.net`,
      `${words.join(".")}@example.net`,
      `${words.join("_")}@example.net`,
      `maria+${words.join("-")}@example.net`,
      `maria@${words.join("-").toLowerCase()}.example`,
      `maria@${words.join("-").toLowerCase()}-é.example`,
      `"${phrase} é"@example.net`,
      `"é${phrase}"@example.net`,
      ...words.map((word) => `${word}@example.net`),
    ];
  });
  return [...new Set(found)].flatMap((text) => {
    const parsed = parseAddress(text);
    return parsed.kind === "mailbox" ? [parsed.mailbox.address] : [];
  });
}

const dequoted = (local: string) => (local.startsWith('"') ? local.slice(1, -1).replace(/\\(.)/g, "$1") : local);
const hex = (character: string) => character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
const notAtom = /[^A-Za-z0-9.@-]/g;

/** How servers write an address back. */
const ECHOES: Record<string, (local: string, domain: string) => string> = {
  wire: (local, domain) => `${local}@${domain}`,
  dequoted: (local, domain) => `${dequoted(local)}@${domain}`,
  "lower case": (local, domain) => `${dequoted(local)}@${domain}`.toLowerCase(),
  "upper case": (local, domain) => `${local}@${domain}`.toUpperCase(),
  "U-labels": (local, domain) => `${dequoted(local)}@${domainToUnicode(domain)}`,
  "local part": (local) => local,
  "local part dequoted": dequoted,
  "its first part": (local) => dequoted(local).split("+")[0] ?? "",
  "domain first": (local, domain) => `${domain}!${dequoted(local)}`,
  percent: (local, domain) => `${local}@${domain}`.replace(notAtom, (one) => encodeURIComponent(one)),
  xtext: (local, domain) => `${local}@${domain}`.replace(/[^!-~]|[+=]/g, (one) => `+${hex(one)}`),
  "quoted-printable": (local, domain) => `${local}@${domain}`.replace(/[^!-~]|=/g, (one) => `=${hex(one)}`),
  "encoded word": (local, domain) => `=?utf-8?q?${`${dequoted(local)}@${domain}`.replace(/ /g, "_")}?=`,
  "references of HTML": (local, domain) =>
    `${local}@${domain}`.replace(/"/g, "&quot;").replace(/[ +]/g, (one) => `&#${one.charCodeAt(0)};`),
  backslashes: (local, domain) => `${dequoted(local).replace(/[^A-Za-z0-9]/g, "\\$&")}@${domain}`,
  "without what is not ASCII": (local, domain) => `${dequoted(local)}@${domain}`.replace(/[^\x20-\x7e]/g, ""),
  "? for what is not ASCII": (local, domain) => `${dequoted(local)}@${domain}`.replace(/[^\x20-\x7e]/g, "?"),
};

/** Refusals of real servers; `%` stands for the address. */
const REPLIES = [
  // Postfix
  "550 5.1.1 <%>: Recipient address rejected: User unknown in virtual mailbox table",
  "554 5.7.1 <%>: Relay access denied",
  "450 4.1.1 <%>: Recipient address rejected: unverified address: Address verification in progress",
  "450 4.2.0 <%>: Recipient address rejected: Greylisted, come back later",
  "554 5.7.1 <%>: Recipient address rejected: Access denied",
  "452 4.2.2 <%>: Recipient address rejected: mailbox is full",
  // sendmail
  "550 5.1.1 <%>... User unknown",
  "550 5.1.1 %... User unknown",
  "553 5.3.0 <%>... Addressee unknown, relay=[192.0.2.1]",
  "550 %... User unknown",
  // Exim
  "550 Verification failed for <%>\nCalled:   192.0.2.1\nSent:     RCPT TO:<%>\nResponse: 550 no such user here",
  "550 Unrouteable address",
  "450 <%>: temporary failure, try again",
  // Exchange
  "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient % not found by SMTP address lookup",
  "550 5.4.1 Recipient address rejected: Access denied. [AM5EUR02FT0.eop-EUR02.prod.protection.outlook.com]",
  "451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (%)",
  // Gmail
  "550-5.1.1 The email account that you tried to reach does not exist. Please try\n5.1.1 double-checking the recipient's email address (%) for typos",
  "452 4.2.2 The recipient's inbox is out of storage space. %",
  // Others
  "550 % (maria) not listed in Domino Directory",
  "550 User doesn't exist: %",
  "550 5.2.2 Over quota: %",
  "421 4.3.2 Closing connection: %",
  "550 <%> refused",
  "451 <%> try later",
  "550 % is not welcome",
];

const NEUTRAL = { local: "x9", domain: "y9.test" };
const header: SentMessage["header"] = { addresses: [], texts: [] };

function meaning(line: string, to: string, stage: Stage = "rcpt") {
  const lines = line.slice(4).split("\n");
  const heard = removeEcho(makeReply(Number(line.slice(0, 3)), lines), stage, {
    from: "b+t@bounce.z9.test",
    to,
    header,
  });
  const { kind, category, isHard, enhancedCode } = classifyReply(heard, stage);
  const reactions = ["mx.example.net", "mta5.am0.yahoodns.net", "mx01.mail.icloud.com"].map(
    (site) => findReaction(heard.words, site, heard.code < 500)?.kind,
  );
  return { kind, category, isHard, enhancedCode, reactions };
}

test("the phrases know every rule", () => {
  const known = TEXT_RULES.map(({ pattern }) => PHRASES.some((phrase) => pattern.test(phrase.toLowerCase())));
  expect(TEXT_RULES.filter((_, at) => known[at] === false).map(({ pattern }) => pattern.source)).toEqual([]);
});

describe("no recipient that is accepted changes what a refusal means", () => {
  const all = recipients().map((to) => {
    const at = to.lastIndexOf("@");
    return { to, local: to.slice(0, at), domain: to.slice(at + 1) };
  });

  test.each(Object.entries(ECHOES))("repeated as: %s", (_, echo) => {
    expect(all.length).toBeGreaterThan(400);
    const random = seeded(7);
    const wrong: unknown[] = [];
    for (const reply of REPLIES.filter((each) => each.includes("%"))) {
      const neutral = reply.replaceAll("%", () => echo(NEUTRAL.local, NEUTRAL.domain));
      const expected = meaning(neutral, `${NEUTRAL.local}@${NEUTRAL.domain}`);
      for (const { to, local, domain } of all) {
        // Of the many pairs a part; another test has the literal words.
        if (random() > 0.08 || sharesWords(to, reply)) continue;
        const found = meaning(
          reply.replaceAll("%", () => echo(local, domain)),
          to,
        );
        if (!Bun.deepEquals(found, expected)) wrong.push({ reply, to, found, expected });
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  /** The template itself says it: then nobody can tell whose words they are. */
  function sharesWords(to: string, reply: string): boolean {
    const words = (text: string) => text.toLowerCase().match(/[a-z0-9]{3,}/g) ?? [];
    const own = new Set(words(reply.replaceAll("%", "")));
    return words(to).some((word) => own.has(word));
  }

  test("who spells the server's own words gains nothing by it: no reaction, and no harder verdict", () => {
    const random = seeded(11);
    for (const reply of REPLIES) {
      const expected = meaning(reply.replaceAll("%", "x9@y9.test"), "x9@y9.test");
      for (const { to } of all.filter(() => random() < 0.3)) {
        const found = meaning(
          reply.replaceAll("%", () => to),
          to,
        );
        const isHarder = found.isHard && !expected.isHard;
        if (isHarder || !Bun.deepEquals([found.kind, found.reactions], [expected.kind, expected.reactions]))
          throw new Error(`${to} gains by: ${reply}`);
      }
    }
  });
});

test("what real Postfix answered to the recipient that stopped all tenants' mail means that the user is unknown", () => {
  const to = '"blocked using spamhaus 1"@mx.test';
  const reply =
    "550 5.1.1 <blocked using spamhaus 1@mx.test>: Recipient address rejected: User unknown in virtual mailbox table";
  const heard = removeEcho(makeReply(550, [reply.slice(4)]), "rcpt", { from: "b+t@bounce.loja.test", to, header });
  expect(heard.words).toBe("address recipient address rejected: user unknown in virtual mailbox table");
  expect(classifyReply(heard, "rcpt")).toMatchObject({ category: "invalid_recipient", isHard: true });
});

test("an address means nothing either where the line ends in the middle of it, ours or the server's", () => {
  const wrong: unknown[] = [];
  const locals = ["banned.zzzzzzzz", "x.blocklistzzzz", "spamhauszz", '"user unknownzzzz"'];
  for (const local of locals)
    for (const end of [506, 512])
      for (let before = 470; before < end; before++) {
        const line = `5.7.1 ${"w ".repeat(300).slice(0, before - 6)}<${local}@victim.test> said`.slice(0, end);
        // The next line is the server's own, and a reply ends at 1,024 characters for us.
        for (const lines of [[line], [line, "5.7.1 refused"], ["v ".repeat(255), `${"v ".repeat(before)}${local}zz`]]) {
          const found = meaning(`550 ${lines.join("\n")}`, `${local}@victim.test`);
          if (found.category !== "policy" && found.category !== "unknown") wrong.push({ lines, found });
        }
      }
  expect(wrong.slice(0, 3)).toEqual([]);
  // What is whole is compared as a whole.
  const heard = removeEcho(makeReply(550, ["5.1.1 user unknown"]), "rcpt", {
    from: "",
    to: "unknownish@a.test",
    header,
  });
  expect(heard.words).toBe("user unknown");
});

test("the sender's domain at MAIL, and the subject and the name after DATA, are not the server's words either", () => {
  const told: SentMessage = {
    from: "b+t@bounce.blocked-by-spamhaus.test",
    to: "maria@example.net",
    header: {
      addresses: ["spamhaus@too-many-connections.test"],
      texts: ["Too many connections, says spamhaus", "Temporarily deferred"],
    },
  };
  const said = (text: string, stage: Stage) => removeEcho(makeReply(554, [text]), stage, told);
  expect(said("Sender bounce.blocked-by-spamhaus.test refused", "mail").words).toBe("sender it refused");
  for (const text of [
    'Subject "Too many connections, says spamhaus" refused',
    "Subject =?utf-8?q?Too_many_connections,_says_spamhaus?= refused",
    "From Temporarily deferred <spamhaus@too-many-connections.test> refused",
    "Domain too-many-connections.test refused",
  ]) {
    const heard = said(text, "dot");
    expect([text, findReaction(heard.words, "mx.example.net", true), heard.isEcho]).toEqual([text, null, true]);
    expect([text, classifyReply(heard, "dot").category]).toEqual([text, "unknown"]);
  }
  // At RCPT the server has not seen the header.
  expect(said("Temporarily deferred", "rcpt").isEcho).toBe(false);
});

test("a long subject is cut out to its end, and no subject takes long to look for", () => {
  const heard = (subject: string, lines: string[]) =>
    removeEcho(makeReply(554, lines), "dot", { from: "", to: "a@b.test", header: { addresses: [], texts: [subject] } });
  const subject = `${"w ".repeat(110)}you are blocked using spamhaus`;
  expect(heard(subject, [`5.7.1 Refused: ${subject}`]).words).toBe("refused: it");
  const startedAt = cpuTime();
  // As often as a workspace's many emails to a server of its own have it done, between everybody's requests.
  for (let time = 0; time < 30; time++)
    for (const unit of ["1 ", "a ", "1 1 1 a "])
      for (const said of ["1 ", "a ", "1 1 a "]) heard(unit.repeat(130), [said.repeat(255), said.repeat(255)]);
  expect(cpuTime() - startedAt).toBeLessThan(1_000);
});

test("of a header that is too long to look for the reply counts by its code only; before DATA it is not told", () => {
  const told = (length: number) => ({
    ...{ from: "a@b.test", to: "maria@example.net" },
    header: { addresses: [], texts: ["x ".repeat(length / 2), "too many connections"] },
  });
  const reply = makeReply(554, ["5.7.1 Blocked using spamhaus"]);
  expect(removeEcho(reply, "dot", told(2_100))).toEqual({ code: 554, enhanced: null, words: "", isEcho: true });
  expect(removeEcho(reply, "dot", told(2_000)).words).toBe("blocked using spamhaus");
  expect(removeEcho(reply, "rcpt", told(2_100)).words).toBe("blocked using spamhaus");
  const startedAt = cpuTime();
  const texts = ["a ".repeat(499), "a ".repeat(499)];
  const long = { from: "a@b.test", to: "c@d.test", header: { addresses: [], texts } };
  for (let time = 0; time < 30; time++) removeEcho(makeReply(554, ["a ".repeat(255), "a ".repeat(255)]), "dot", long);
  expect(cpuTime() - startedAt).toBeLessThan(1_000);
});

test("a code that the address brings is none of the server's", () => {
  const to = '"5.7.1 blocked"@example.net';
  const heard = (text: string) => removeEcho(makeReply(550, [text]), "rcpt", { from: "a@b.test", to, header });
  expect(heard("5.7.1 blocked@example.net... unknown here").enhanced).toBeNull();
  expect(heard("5.1.1 <5.7.1 blocked@example.net>: no such user").enhanced).toBe("5.1.1");
});

test("a server's own words stay, though a name is made of some of them", () => {
  const words = (to: string, text: string) =>
    removeEcho(makeReply(550, [text]), "rcpt", { from: "a@b.test", to, header }).words;
  expect(words("user@example.net", "5.1.1 User unknown")).toBe("address unknown");
  expect(words("no.such.user@example.net", "No such user here")).toBe("no such user here");
  expect(words("zen@example.net", "blocked using zen.spamhaus.org")).toBe("blocked using zen.spamhaus.org");
  expect(words("a@example.net", "not a valid mailbox")).toBe("not a valid mailbox");
});
