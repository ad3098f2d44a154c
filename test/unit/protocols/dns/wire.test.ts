import { expect, test } from "bun:test";
import { encode } from "dns-packet";
import type { Answer, RecordClass } from "dns-packet";
import { encodeQuestion, isAskable, normalizeName, readAnswer } from "../../../../src/protocols/dns/wire-format.ts";
import type { QueryType, Question } from "../../../../src/protocols/dns/wire-format.ts";

const question: Question = { id: 4660, name: "a.example", type: "A", hasEdns: true };

function answer(parts: { flags?: number; answers?: Answer[]; authorities?: Answer[]; class?: RecordClass }): Buffer {
  return encode({
    type: "response",
    id: question.id,
    flags: parts.flags ?? 0x180,
    questions: [{ type: "A", name: "A.Example", class: parts.class ?? "IN" }],
    answers: parts.answers ?? [],
    authorities: parts.authorities ?? [],
  });
}

const a = (name: string, ttl = 60): Answer => ({ type: "A", name, ttl, data: "198.51.100.1" });
const soa = (name: string, ttl: number, minimum: number): Answer => ({
  type: "SOA",
  name,
  ttl,
  data: { mname: "ns.example", rname: "x.example", minimum },
});

test("a question asks for recursion and offers 1,232 bytes", () => {
  const bytes = encodeQuestion(question);
  expect(bytes.readUInt16BE(0)).toBe(4660);
  expect(bytes.readUInt16BE(2)).toBe(0x0100);
  expect(bytes.subarray(-11).toString("hex")).toBe("00002904d0000000000000");
});

test("records for names that were not asked for are not believed", () => {
  const reading = readAnswer(answer({ answers: [a("evil.example"), a("a.EXAMPLE")] }), question);
  expect(reading).toMatchObject({ kind: "found", values: ["198.51.100.1"] });
  expect(readAnswer(answer({ answers: [a("evil.example")] }), question)).toMatchObject({ kind: "no_data" });
});

test("the TTL is the shortest on the way, and one with its top bit set is zero (RFC 2181)", () => {
  const cname: Answer = { type: "CNAME", name: "a.example", ttl: 5, data: "b.example" };
  expect(readAnswer(answer({ answers: [a("b.example", 90), cname] }), question)).toMatchObject({ ttlS: 5 });
  expect(readAnswer(answer({ answers: [a("a.example", 0xffff_ffff)] }), question)).toMatchObject({ ttlS: 0 });
});

test("a negative answer holds for the lesser of the SOA's TTL and minimum (RFC 2308)", () => {
  const cases: [ttl: number, minimum: number, ttlS: number][] = [
    [10, 900, 10],
    [900, 20, 20],
  ];
  for (const [ttl, minimum, ttlS] of cases) {
    const reading = readAnswer(answer({ flags: 0x183, authorities: [soa("example", ttl, minimum)] }), question);
    expect(reading).toEqual({ kind: "no_name", ttlS });
  }
});

test("after a CNAME, an SOA over the target tells that there is nothing; another one does not", () => {
  const cname: Answer = { type: "CNAME", name: "a.example", ttl: 60, data: "b.other" };
  const over = readAnswer(answer({ answers: [cname], authorities: [soa("other", 60, 60)] }), question);
  expect(over.kind).toBe("no_data");
  const beside = readAnswer(answer({ answers: [cname], authorities: [soa("example", 60, 60)] }), question);
  expect(beside).toMatchObject({ kind: "continues", target: "b.other" });
});

test("a question in another class, another name or no answer bit makes a message foreign", () => {
  expect(readAnswer(answer({ class: "CH", answers: [a("a.example")] }), question).kind).toBe("foreign");
  expect(readAnswer(answer({}), { ...question, name: "b.example" }).kind).toBe("foreign");
  expect(readAnswer(answer({}), { ...question, type: "AAAA" }).kind).toBe("foreign");
  expect(readAnswer(answer({}), { ...question, id: 1 }).kind).toBe("foreign");
  expect(readAnswer(encodeQuestion(question), question).kind).toBe("foreign");
});

test("a bare header is believed as an error and never as an absence", () => {
  const bare = Buffer.alloc(12);
  bare.writeUInt16BE(question.id, 0);
  bare.writeUInt16BE(0x8182, 2);
  expect(readAnswer(bare, question)).toEqual({ kind: "refused", reason: "answered SERVFAIL" });
  bare.writeUInt16BE(0x8183, 2);
  expect(readAnswer(bare, question).kind).toBe("foreign");
});

test("a message that announces more records than the limit is refused before it is read", () => {
  const bytes = answer({});
  bytes.writeUInt16BE(65_535, 6);
  expect(readAnswer(bytes, question)).toEqual({ kind: "refused", reason: "sent 65536 records" });
});

test("names are compared in lower case without a trailing dot, other letters stay as they are", () => {
  expect(normalizeName("MX.Example.COM.")).toBe("mx.example.com");
  expect(normalizeName(".")).toBe("");
  expect(normalizeName("\u212A.example")).toBe("\u212A.example");
  expect(isAskable("_dmarc.example.com")).toBe(true);
  expect(isAskable(`${"a".repeat(63)}.example`)).toBe(true);
  expect(isAskable("a..example")).toBe(false);
});

test("mutated answers never throw: each is ignored, refused or read", () => {
  const rounds = Number(process.env["ROUNDS"] ?? 5) * 200;
  const random = seeded(20_240_117);
  const types: QueryType[] = ["A", "MX", "TXT", "CNAME", "AAAA", "NS", "SOA", "CAA", "PTR"];
  const kinds = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const type = types[round % types.length] ?? "A";
    const asked: Question = { ...question, type };
    const reading = readAnswer(mutate(sample(type), random), asked);
    kinds.add(reading.kind);
    if (reading.kind === "found") expect(reading.values.length).toBeGreaterThan(0);
  }
  expect(kinds.size).toBeGreaterThan(3);
});

function sample(type: QueryType): Buffer {
  const records: Record<QueryType, Answer> = {
    A: a("b.example"),
    AAAA: { type: "AAAA", name: "b.example", ttl: 1, data: "2001:db8::1" },
    MX: { type: "MX", name: "b.example", ttl: 1, data: { preference: 1, exchange: "mx.example" } },
    TXT: { type: "TXT", name: "b.example", ttl: 1, data: [Buffer.from("one"), Buffer.from("two")] },
    CNAME: { type: "CNAME", name: "b.example", ttl: 1, data: "c.example" },
    NS: { type: "NS", name: "b.example", ttl: 1, data: "ns.example" },
    SOA: soa("b.example", 1, 1),
    PTR: { type: "PTR", name: "b.example", ttl: 1, data: "host.example" },
    CAA: { type: "CAA", name: "b.example", ttl: 1, data: { flags: 0, tag: "issue", value: "ca.example" } },
  };
  return encode({
    type: "response",
    id: question.id,
    flags: 0x180,
    questions: [{ type, name: question.name, class: "IN" }],
    answers: [{ type: "CNAME", name: "a.example", ttl: 1, data: "b.example" }, records[type]],
    authorities: [soa("example", 1, 1)],
    additionals: [
      {
        type: "OPT",
        name: ".",
        udpPayloadSize: 1232,
        extendedRcode: 0,
        ednsVersion: 0,
        flags: 0,
        flag_do: false,
        options: [],
      },
    ],
  });
}

function mutate(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes; change += 1) {
    // The id stays, or nearly all would be foreign.
    const at = 2 + Math.floor(random() * (copy.length - 2));
    copy[at] = random() < 0.3 ? 0xc0 | Math.floor(random() * 4) : Math.floor(random() * 256);
  }
  const isCut = random() < 0.3;
  return isCut ? copy.subarray(0, Math.floor(random() * copy.length)) : copy;
}

/** Mulberry32: the same mutations with every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
