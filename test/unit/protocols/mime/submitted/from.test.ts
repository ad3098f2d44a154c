import { describe, expect, test } from "bun:test";
import { readMailboxList } from "../../../../../src/protocols/mime/submitted/mailbox-list.ts";
import { accept, faultOf, lines, utf8 } from "../../../../support/mime/submitted.ts";

const mail = (...header: string[]) => lines(...header, "", "x");
const shown = ({ displayName, address }: { displayName: string | null; address: string }) => [displayName, address];

describe("a From that stays as it came", () => {
  const CASES: [string, string | null, string][] = [
    ["ana@example.com", null, "ana@example.com"],
    ["<ana@example.com>", null, "ana@example.com"],
    ["Ana <Ana@Example.COM>", "Ana", "Ana@example.com"],
    ['"Silva, Ana" <ana@example.com>', "Silva, Ana", "ana@example.com"],
    ['"boss@evil.example" <ana@example.com>', "boss@evil.example", "ana@example.com"],
    [
      '"boss@evil.example, <x@evil.example>"\r\n <ana@example.com>',
      "boss@evil.example, <x@evil.example>",
      "ana@example.com",
    ],
    ["=?utf-8?Q?Jos=C3=A9?= <ana@example.com>", "José", "ana@example.com"],
    ["=?utf-8?B?am9zZUBldmlsLmV4YW1wbGU=?= <ana@example.com>", "jose@evil.example", "ana@example.com"],
    ["=?utf-8?Q?a=0D=0AB_x=40y?= =?utf-8?Q?z?=\r\n <ana@example.com>", "a B x@yz", "ana@example.com"],
    ['"a b"@example.com', null, '"a b"@example.com'],
  ];
  for (const [value, name, address] of CASES)
    test(JSON.stringify(value), () => {
      const { from, header } = accept(mail(`From: ${value}`, "Subject: x"));
      expect(shown(from)).toEqual([name, address]);
      expect(header).toBe(lines(`From: ${value}`, "Subject: x"));
    });
});

describe("a From that is written anew", () => {
  const CASES: [string, string, string | null, string][] = [
    ["root@host.example (Cron Daemon)", "Cron Daemon <root@host.example>", "Cron Daemon", "root@host.example"],
    ["Ana\r\n\t<ana@example.com>", "Ana <ana@example.com>", "Ana", "ana@example.com"],
    ["Ana <ana@\r\n example.com>", "Ana <ana@example.com>", "Ana", "ana@example.com"],
    ["Ana <ana . silva @ example . com>", "Ana <ana.silva@example.com>", "Ana", "ana.silva@example.com"],
    ["Ana <@relay.example,@b.example:ana@example.com>", "Ana <ana@example.com>", "Ana", "ana@example.com"],
    [
      "(a (nested) comment) ana@example.com",
      '"a (nested) comment" <ana@example.com>',
      "a (nested) comment",
      "ana@example.com",
    ],
    ["=?utf-8?Q?a=0D=0ABcc:_x?= <ana@example.com>", '"a Bcc: x" <ana@example.com>', "a Bcc: x", "ana@example.com"],
    ["ana@example.com,", "ana@example.com", null, "ana@example.com"],
    [utf8("José <ana@example.com>"), "=?utf-8?B?Sm9zw6k=?= <ana@example.com>", "José", "ana@example.com"],
    ["Jos\u00e9 <ana@example.com>", "=?utf-8?B?Sm9zw6k=?= <ana@example.com>", "José", "ana@example.com"],
    [utf8("ana@bücher.example"), "ana@xn--bcher-kva.example", null, "ana@xn--bcher-kva.example"],
    [
      "=?utf-8?Q?Silva,_Ana_(x)?= <ana@example.com>",
      '"Silva, Ana (x)" <ana@example.com>',
      "Silva, Ana (x)",
      "ana@example.com",
    ],
  ];
  for (const [value, written, name, address] of CASES)
    test(JSON.stringify(value), () => {
      const { from, header } = accept(mail(`From: ${value}`, "Subject: x"));
      expect(shown(from)).toEqual([name, address]);
      expect(header).toBe(lines(`From: ${written}`, "Subject: x"));
    });
});

describe("a From that is refused", () => {
  const CASES: [string, string[], string][] = [
    ["none", ["To: b@example.com"], "the message has no From field: write exactly one address, like Name <name@"],
    ["two fields", ["From: a@example.com", "FROM: a@example.com"], "the message has 2 From fields: leave exactly one"],
    ["two mailboxes", ["From: a@example.com, b@example.com"], "From holds 2 addresses: leave exactly one"],
    ["a group", ["From: Us: a@example.com;"], "From holds a group of addresses"],
    ["an empty group", ["From: undisclosed-recipients:;"], "From holds a group of addresses"],
    ["nothing", ["From:"], "From holds no address"],
    ["the null path", ["From: <>"], "From cannot be read: the address has no @"],
    ["a comment only", ["From: (Ana)"], "From holds no address"],
    [
      "an @ in the name",
      ["From: boss@evil.example <a@example.com>"],
      "From cannot be read: the name before the address contains @",
    ],
    [
      "an @ in a broken encoded-word",
      ["From: =?utf-8?Q?boss@evil.example?= <a@example.com>"],
      "From cannot be read: the name before",
    ],
    ["two in angle brackets", ["From: <a@example.com> <b@example.com>"], "From cannot be read: something stands after"],
    ["a name without brackets", ["From: Ana a@example.com"], "From cannot be read: the address is not in angle"],
    ["an open quote", ['From: "Ana <a@example.com>'], "From cannot be read: "],
    ["an open bracket", ["From: Ana <a@example.com"], "From cannot be read: an angle bracket is never closed"],
    [
      "an encoded address",
      ["From: =?utf-8?Q?a=40evil.example?=@example.com"],
      "From cannot be read: the address holds an encoded-word",
    ],
    [
      "an address in an encoded-word",
      ["From: =?utf-8?Q?a=40example.com?="],
      "From cannot be read: the address has no @",
    ],
    ["an IP address", ["From: a@[192.0.2.1]"], "From cannot be read: after the @ there is no domain name"],
    ["no dot", ["From: root@localhost"], "From cannot be read: the domain after the @ needs a dot"],
    ["a local part beyond ASCII", [utf8("From: josé@example.com")], "From has an address with characters beyond ASCII"],
  ];
  for (const [name, header, fault] of CASES)
    test(name, () => {
      expect(faultOf(mail(...header))).toStartWith(`from: ${fault}`);
    });
});

describe("lists of addresses", () => {
  const read = (text: string) => readMailboxList(text).mailboxes.map(shown);

  test("groups, comments, quotes, routes, and what cannot be read is left out", () => {
    expect(
      read(
        'A <a@x.co>, "B, c" <b@x.co> (hi), Team: c@x.co, (x) d@x.co (Dee);, broken, <@r.co:e@x.co>, =?utf-8?Q?=C3=89?= =?utf-8?Q?=C3=A9_x?= <f@x.co>,,',
      ),
    ).toEqual([
      ["A", "a@x.co"],
      ["B, c", "b@x.co"],
      [null, "c@x.co"],
      ["Dee", "d@x.co"],
      [null, "e@x.co"],
      ["Éé x", "f@x.co"],
    ]);
  });

  test("a character cut in two by encoded-words is one", () => {
    expect(read("=?utf-8?B?w4k=?= =?utf-8?Q?=C3?= =?utf-8?Q?=A9?= <f@x.co>")).toEqual([["Éé", "f@x.co"]]);
  });

  test("what is never closed ends the list, and what came before is kept", () => {
    expect(read('a@x.co, "b <b@x.co>, c@x.co')).toEqual([[null, "a@x.co"]]);
    expect(read("a@x.co, (b, c@x.co")).toEqual([[null, "a@x.co"]]);
  });

  test("1,000 are read at most", () => {
    const { mailboxes, faults } = readMailboxList("a@x.co,".repeat(5_000));
    expect([mailboxes.length, faults.length]).toEqual([1_000, 1]);
  });

  test("To, Cc and Reply-To of the message are read", () => {
    const { to, cc, replyTo, header } = accept(
      mail("From: a@x.co", "To: b@x.co, Us: c@x.co;", "to: d@x.co", "Cc: nonsense", "Reply-To: E <e@x.co>"),
    );
    expect([to, cc, replyTo].map((list) => list.map(({ address }) => address))).toEqual([
      ["b@x.co", "c@x.co", "d@x.co"],
      [],
      ["e@x.co"],
    ]);
    expect(header).toContain("To: b@x.co, Us: c@x.co;\r\nto: d@x.co\r\nCc: nonsense\r\n");
  });
});

describe("Sender, set aside", () => {
  test("its domain and the field are returned, and it is not in the header", () => {
    const { sender, header } = accept(mail("From: a@x.co", "Sender: Bot\r\n <bot@Mail.x.co>", "Subject: x"));
    expect(sender).toEqual({ domain: "mail.x.co", field: "Sender: Bot\r\n <bot@Mail.x.co>\r\n" });
    expect(header).toBe(lines("From: a@x.co", "Subject: x"));
  });

  test("two of them, or one that cannot be read, are none", () => {
    expect(accept(mail("From: a@x.co", "Sender: b@x.co", "Sender: b@x.co")).sender).toBeNull();
    expect(accept(mail("From: a@x.co", "Sender: b@x.co, c@x.co")).sender).toBeNull();
    expect(accept(mail("From: a@x.co")).sender).toBeNull();
  });

  test("one that readers could read differently is written anew", () => {
    expect(accept(mail("From: a@x.co", "Sender: b@x.co (B)")).sender?.field).toBe("Sender: B <b@x.co>\r\n");
  });
});
