// Who is a recipient: the whole table of RCPT's judgements.
import { expect, test } from "bun:test";
import { returnPath } from "../../../../../src/protocols/dsn/return-path.ts";
import { newId } from "../../../../../src/platform/uuid.ts";
import { createUnsubscribeLinks } from "../../../../../src/modules/unsubscribe/links.ts";
import { route, type RouteDeps, type SentEmail } from "../../../../../src/modules/inbound-mail/server/recipients.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";

const NOW = Date.UTC(2026, 0, 31);
const DAY_MS = 86_400_000;
const KEY = new Uint8Array(32).fill(1);
const HOST = "bounce.loja.example";

const emails = new Map<string, SentEmail>();
const links = createUnsubscribeLinks({
  findOrigin: () => "https://mail.pombo.example",
  mailHost: "returns.pombo.example",
  key: new Uint8Array(32).fill(2),
});
const parts: RouteDeps = {
  hostname: "mail.pombo.example",
  bounceHost: "returns.pombo.example",
  returnPathKey: KEY,
  readUnsubscribe: links.readLocalPart,
  find: (uid) => emails.get(uid),
};

interface Sending {
  recipient?: string;
  host?: string;
  at?: number;
  key?: Uint8Array;
  sendAt?: number | null;
}

function sent({ recipient = "maria@example.com", host = HOST, at = NOW, key = KEY, sendAt = null }: Sending = {}) {
  const uid = newId(at, systemRandom);
  const address = returnPath({ id: uid, recipient }, host, key);
  emails.set(uid, { recipientAddress: recipient, isErased: false, returnPath: address, sendAt });
  return { uid, address };
}

const judge = (address: string, now = NOW) => {
  const found = route(address, parts, now);
  return found;
};

test("a return path leads to its email, in any spelling of its letters", () => {
  const { uid, address } = sent();
  const destination = { kind: "bounce" as const, emailUid: uid };
  expect(judge(address)).toEqual(destination);
  expect(judge(address.toUpperCase())).toEqual(destination);
  const [local = "", host = ""] = address.split("@");
  expect(judge(`${local.toUpperCase()}@${host}`)).toEqual(destination);
  expect(judge(`${local}@Bounce.Loja.Example`)).toEqual(destination);
});

test("an address that unsubscribes leads to its email at the bounce host, and nowhere once that is gone", () => {
  const { uid } = sent();
  const address = links.build(uid)?.mail ?? "";
  expect(judge(address)).toEqual({ kind: "unsubscribe", emailUid: uid });
  expect(judge(address.toUpperCase(), NOW + 400 * DAY_MS)).toEqual({ kind: "unsubscribe", emailUid: uid });
  expect(judge(address.replace("returns.pombo.example", "mail.pombo.example"))).toBe("unknown");
  expect(judge(address.replace("returns.pombo.example", HOST))).toBe("foreign");
  expect(judge(address.replace(/^u/, "b"))).toBe("forged");
  expect(judge(address.replace(/.(?=@)/, ""))).toBe("unknown");
  emails.delete(uid);
  expect(judge(address)).toBe("unknown");
});

test("the return path of an erased email leads to it by itself, and no other one does", () => {
  const { uid, address } = sent();
  const forged = returnPath({ id: uid, recipient: "erased@erased.invalid" }, HOST, KEY);
  emails.set(uid, { recipientAddress: "erased@erased.invalid", isErased: true, returnPath: address, sendAt: null });
  expect(judge(address)).toEqual({ kind: "bounce", emailUid: uid });
  expect(judge(address.toUpperCase())).toEqual({ kind: "bounce", emailUid: uid });
  expect(judge(forged)).toBe("forged");
  const changed = address.replace(/.(?=@)/, (last) => (last === "a" ? "b" : "a"));
  expect(judge(changed)).not.toEqual({ kind: "bounce", emailUid: uid });
});

test("a return path under an international domain is known in both its forms", () => {
  const { uid, address } = sent({ host: "bounce.xn--caf-dma.example" });
  const destination = { kind: "bounce" as const, emailUid: uid };
  expect(judge(address)).toEqual(destination);
  // The library that reads RCPT turns A-labels into letters.
  expect(judge(address.replace("xn--caf-dma", "café"))).toEqual(destination);
});

test("only the host that was fixed for the email leads to it, and the bounce host, which its CNAME leads to", () => {
  const { uid, address } = sent();
  expect(judge(address.replace(HOST, "returns.pombo.example"))).toEqual({ kind: "bounce", emailUid: uid });
  for (const host of ["mail.pombo.example", "bounce.other.example", "loja.example"])
    expect(judge(address.replace(HOST, host))).toBe("foreign");
  const under = sent({ host: "returns.pombo.example" });
  expect(judge(under.address)).toEqual({ kind: "bounce", emailUid: under.uid });
  expect(judge(under.address.replace("returns.pombo.example", HOST))).toBe("foreign");
});

test("a token that was changed, made with another key, or for another recipient is forged", () => {
  const { uid, address } = sent();
  const at = address.indexOf("@");
  // The last 16 characters are the proof. The very last holds three bits of it: half of its letters are no token at all.
  for (const [place, whys] of [
    [at - 16, ["forged"]],
    [at - 8, ["forged"]],
    [at - 1, ["forged", "foreign"]],
  ] as const) {
    const letter = address[place] === "a" ? "b" : "a";
    expect(whys).toContain(judge(address.slice(0, place) + letter + address.slice(place + 1)) as "forged");
  }
  const byOther = returnPath({ id: uid, recipient: "maria@example.com" }, HOST, new Uint8Array(32).fill(2));
  expect(judge(byOther)).toBe("forged");
  const forOther = returnPath({ id: uid, recipient: "joao@example.com" }, HOST, KEY);
  expect(judge(forOther)).toBe("forged");
});

test("the proof of one email does for no other, of the same workspace or another's", () => {
  const [one, two] = [sent(), sent({ host: "bounce.other.example" })];
  const swapped = `${one.address.slice(0, 2 + 26)}${two.address.slice(2 + 26, 44)}@${HOST}`;
  expect(judge(swapped)).toBe("forged");
});

test("a token of an email that is gone, or never was, leads nowhere", () => {
  const { uid, address } = sent();
  emails.delete(uid);
  expect(judge(address)).toBe("unknown");
});

test("after 30 days a token is over, and not a millisecond sooner", () => {
  const { uid, address } = sent();
  expect(judge(address, NOW + 30 * DAY_MS - 1)).toEqual({ kind: "bounce", emailUid: uid });
  expect(judge(address, NOW + 30 * DAY_MS)).toBe("expired");
});

test("that of a scheduled email is over 30 days after its time", () => {
  const { uid, address } = sent({ sendAt: NOW + 30 * DAY_MS });
  expect(judge(address, NOW + 60 * DAY_MS - 1)).toEqual({ kind: "bounce", emailUid: uid });
  expect(judge(address, NOW + 60 * DAY_MS)).toBe("expired");
});

test.each([
  ["fbl@returns.pombo.example", { kind: "complaint" }],
  ["FBL@Returns.Pombo.Example", { kind: "complaint" }],
  ["postmaster@returns.pombo.example", { kind: "person", mailbox: "postmaster" }],
  ["postmaster@mail.pombo.example", { kind: "person", mailbox: "postmaster" }],
  ["Postmaster", { kind: "person", mailbox: "postmaster" }],
  ["ABUSE@mail.pombo.example", { kind: "person", mailbox: "abuse" }],
  ["abuse@returns.pombo.example", { kind: "person", mailbox: "abuse" }],
])("%s is taken", (address, destination) => {
  expect(judge(address)).toEqual(destination as ReturnType<typeof judge>);
});

test.each([
  // Other hosts.
  ["maria@example.com", "foreign"],
  ["postmaster@example.com", "foreign"],
  ["abuse@bounce.loja.example", "foreign"],
  ["fbl@mail.pombo.example", "unknown"],
  ["fbl@bounce.loja.example", "foreign"],
  ["postmaster@[127.0.0.1]", "foreign"],
  ["postmaster@mail.pombo.example.", "foreign"],
  ["postmaster@sub.mail.pombo.example", "foreign"],
  ["postmaster@mail.pombo.example@evil.example", "foreign"],
  // Nobody at ours.
  ["maria@mail.pombo.example", "unknown"],
  ["abuse", "unknown"],
  ["fbl", "unknown"],
  ["", "unknown"],
  ["@mail.pombo.example", "unknown"],
  ["b+@returns.pombo.example", "unknown"],
  ["b+short@returns.pombo.example", "unknown"],
  // Ways on that other servers have known.
  ["maria%example.com@mail.pombo.example", "unknown"],
  ["postmaster%example.com@mail.pombo.example", "unknown"],
  ["example.com!maria@mail.pombo.example", "unknown"],
  ["example.com!postmaster@mail.pombo.example", "unknown"],
  ['"maria@example.com"@mail.pombo.example', "unknown"],
  ['"postmaster"@mail.pombo.example', "unknown"],
  ["postmaster+x@mail.pombo.example", "unknown"],
  ["@mail.pombo.example:maria@example.com", "foreign"],
  ["@evil.example,@other.example:postmaster@mail.pombo.example", "unknown"],
] as const)("%s is nobody", (address, why) => {
  expect(judge(address)).toBe(why);
});

test("a token that is longer or shorter, or holds other characters, is none", () => {
  const { address } = sent({ host: "returns.pombo.example" });
  const [local = "", host = ""] = address.split("@");
  for (const changed of [
    `${local}a`,
    local.slice(0, -1),
    `${local}${"a".repeat(200)}`,
    local.replace(/.$/, "1"),
    `x${local}`,
  ])
    expect(judge(`${changed}@${host}`)).toBe("unknown");
});

test("what the look-up throws is thrown on", () => {
  const { address } = sent();
  const failing = {
    ...parts,
    find: () => {
      throw new Error("no disk");
    },
  };
  expect(() => route(address, failing, NOW)).toThrow("no disk");
});
