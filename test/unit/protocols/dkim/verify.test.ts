import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import {
  canonicalBody,
  type Canonicalization,
  canonicalField,
  selectFields,
  splitMessage,
} from "../../../../src/protocols/dkim/canonicalize.ts";
import { signMessage } from "../../../../src/protocols/dkim/sign.ts";
import { MAX_SIGNATURES, verifyMessage } from "../../../../src/protocols/dkim/verify.ts";
import { composeMessage } from "../../../../src/protocols/mime/compose.ts";
import { source } from "../../../support/mime/mailbox.ts";
import { corpusFolder, domainKeys, readCrlf, zone } from "../../../support/dkim/support.ts";

const corpus = corpusFolder();
const files = corpus === null ? [] : readdirSync(corpus).filter((name) => name.endsWith(".txt"));
const { keys, records } = await domainKeys("a.co");
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const RECORD = `v=DKIM1; k=ed25519; p=${publicKey.export({ type: "spki", format: "der" }).subarray(12).toString("base64")}`;
const MESSAGE = "From: x@a.co\r\nTo: y@b.co\r\nSubject:  two  spaces \r\n\r\nbody  one \r\n\r\n";

/** A message signed by hand with any tags; `bh` and `b` are computed. */
function handSigned(
  tags: string,
  options: { form?: Canonicalization; names?: string[]; length?: number; message?: string } = {},
): Buffer {
  const { form = "relaxed", names = ["From", "Subject"], length, message = MESSAGE } = options;
  const { fields, body } = splitMessage(Buffer.from(message, "latin1"));
  const hash = createHash("sha256").update(canonicalBody(body, form).subarray(0, length)).digest("base64");
  const unsigned = `DKIM-Signature: ${tags} c=${form}/${form}; bh=${hash}; b=`;
  const input = selectFields(fields, names, form) + canonicalField(unsigned, form);
  const value = sign(null, createHash("sha256").update(input, "latin1").digest(), privateKey).toString("base64");
  return Buffer.from(`${unsigned}${value}\r\n${message}`, "latin1");
}

const GOOD = "v=1; a=ed25519-sha256; d=a.co; s=k; h=From:Subject;";

async function verdict(message: Uint8Array, record = RECORD, at?: number) {
  const [first, ...more] = await verifyMessage(message, zone({ "k._domainkey.a.co": [record] }), at);
  expect(more).toEqual([]);
  return first;
}

for (const file of files) {
  test(`every signature of the public example ${file} passes, and none after a change`, async () => {
    const text = readCrlf(join(corpus ?? "", file));
    const [head = ""] = text.split("\r\n\r\n", 1);
    const message = text.slice(head.length + 4);
    const published = Object.fromEntries(
      head.split("\r\n").map((line) => [line.slice(0, line.indexOf(" ")), [line.slice(line.indexOf(" ") + 1)]]),
    );
    const verdicts = await verifyMessage(Buffer.from(message, "latin1"), zone(published));
    expect(verdicts.length).toBeGreaterThan(0);
    expect(verdicts.filter(({ result }) => result !== "pass")).toEqual([]);
    for (const altered of [`${message}\r\nmore`, message.replace(/^Subject:/im, "Subject: Re:")]) {
      const after = await verifyMessage(Buffer.from(altered, "latin1"), zone(published));
      expect(after.map(({ result }) => result)).toEqual(verdicts.map(() => "fail"));
    }
  });
}

test.skipIf(corpus === null)("the example of RFC 8463 passes against its keys", async () => {
  const published = Object.fromEntries(
    readCrlf(join(corpus ?? "", "001.txt"))
      .split("\r\n", 2)
      .map((line) => [line.slice(0, line.indexOf(" ")), [line.slice(line.indexOf(" ") + 1)]]),
  );
  const verdicts = await verifyMessage(
    Buffer.from(readCrlf(join(corpus ?? "", "rfc8463-example.msg")), "latin1"),
    zone(published),
  );
  expect(verdicts.map(({ algorithm, result }) => [algorithm, result])).toEqual([
    ["ed25519-sha256", "pass"],
    ["rsa-sha256", "pass"],
  ]);
});

test("simple and relaxed canonicalization both verify, and simple sees a changed space", async () => {
  for (const form of ["simple", "relaxed"] as const) {
    const message = handSigned(GOOD, { form });
    expect(await verdict(message)).toEqual({
      domain: "a.co",
      selector: "k",
      algorithm: "ed25519-sha256",
      result: "pass",
      reason: null,
    });
    const respaced = Buffer.from(message.toString("latin1").replace("two  spaces", "two spaces"), "latin1");
    expect((await verdict(respaced))?.result).toBe(form === "simple" ? "fail" : "pass");
  }
});

test("an oversigned field that is added breaks the signature", async () => {
  const message = handSigned("v=1; a=ed25519-sha256; d=a.co; s=k; h=From:From:Subject;", {
    names: ["From", "From", "Subject"],
  });
  expect((await verdict(message))?.result).toBe("pass");
  expect((await verdict(Buffer.concat([Buffer.from("From: evil@b.co\r\n"), message])))?.result).toBe("fail");
});

test("l= is honoured and told", async () => {
  const message = handSigned(`${GOOD} l=4;`, { length: 4 });
  expect(await verdict(message)).toMatchObject({
    result: "pass",
    reason: "only the first 4 of 10 body octets are signed (l=)",
  });
  expect(await verdict(handSigned(`${GOOD} l=11;`))).toMatchObject({
    result: "fail",
    reason: "l= is longer than the body",
  });
});

test("x= counts only against a given time", async () => {
  const message = handSigned(`${GOOD} t=1000; x=2000;`);
  expect((await verdict(message))?.result).toBe("pass");
  expect((await verdict(message, RECORD, 1_999_000))?.result).toBe("pass");
  expect(await verdict(message, RECORD, 2_001_000)).toMatchObject({
    result: "fail",
    reason: "the signature has expired",
  });
});

const BAD_TAGS: [tags: string, reason: string][] = [
  ["a=ed25519-sha256; d=a.co; s=k; h=From;", "unknown version"],
  ["v=2; a=ed25519-sha256; d=a.co; s=k; h=From;", "unknown version"],
  ["v=1; a=rsa-sha1; d=a.co; s=k; h=From;", "RFC 8301"],
  ["v=1; a=rot13; d=a.co; s=k; h=From;", "algorithm"],
  ["v=1; a=ed25519-sha256; d=; s=k; h=From;", "not a domain name"],
  ["v=1; a=ed25519-sha256; d=a\u00e9.co; s=k; h=From;", "not a domain name"],
  ["v=1; a=ed25519-sha256; d=a.co; s=../k; h=From;", "not a domain name"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=Subject;", "From is not signed"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=From; i=@b.co;", "not within"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=From; i=@xa.co;", "not within"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=From; q=http;", "query method"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=From; t=x;", "not a number"],
  ["v=1; a=ed25519-sha256; d=a.co; s=k; h=From; t=2; x=1;", "x= is not after"],
  ["v=1; v=1; a=ed25519-sha256; d=a.co; s=k; h=From;", "malformed"],
  ["v=1; nonsense; d=a.co;", "malformed"],
  [`v=1; a=ed25519-sha256; d=a.co; s=k; h=From${":x".repeat(600)};`, "too long"],
];

for (const [tags, reason] of BAD_TAGS) {
  test(`refused: ${tags.slice(0, 70)}`, async () => {
    const found = await verdict(handSigned(tags));
    expect(found?.result).toBe("fail");
    expect(found?.reason).toContain(reason);
  });
}

const p = RECORD.slice(RECORD.indexOf("p="));
const RECORDS: [record: string, result: "pass" | "fail", reason: string | null][] = [
  [`k=ed25519; ${p}`, "pass", null],
  [`v=DKIM1 ; k = ed25519 ;${p} ;`, "pass", null],
  [`k=ed25519; s=email; t=y:s; h=sha1:sha256; n=note; ${p}`, "pass", null],
  ["v=DKIM1; k=ed25519; p=", "fail", "the key has been revoked"],
  ["v=DKIM1; k=ed25519", "fail", "the key record is malformed"],
  ["v=spf1 -all", "fail", "the key record is malformed"],
  [`k=ed25519; v=DKIM1; ${p}`, "fail", "the key record has an unknown version"],
  [`v=DKIM2; k=ed25519; ${p}`, "fail", "the key record has an unknown version"],
  [`v=DKIM1; ${p}`, "fail", "the key is of another kind than the signature"],
  [`v=DKIM1; k=ed25519; h=sha1; ${p}`, "fail", "the key does not allow SHA-256"],
  [`v=DKIM1; k=ed25519; s=tlsrpt; ${p}`, "fail", "the key is not for mail"],
  ["v=DKIM1; k=ed25519; p=AAAA", "fail", "the public key cannot be read"],
  ["v=DKIM1; k=ed25519; p=é", "fail", "the public key cannot be read"],
];

for (const [record, result, reason] of RECORDS) {
  test(`the key record ${JSON.stringify(record.slice(0, 50))} gives ${result}`, async () => {
    expect(await verdict(handSigned(GOOD), record)).toMatchObject({ result, reason });
  });
}

test("a key with t=s does not sign for subdomains", async () => {
  const message = handSigned(`${GOOD} i=x@sub.a.co;`);
  expect((await verdict(message))?.result).toBe("pass");
  expect((await verdict(message, `k=ed25519; t=s; ${p}`))?.result).toBe("fail");
});

test("an RSA key below 1024 bits does not count (RFC 8301 §3.2)", async () => {
  const short = generateKeyPairSync("rsa", { modulusLength: 512 })
    .publicKey.export({ type: "spki", format: "der" })
    .toString("base64");
  const message = Buffer.concat([await signMessage(Buffer.from(MESSAGE), [keys[0]], 0), Buffer.from(MESSAGE)]);
  const [found] = await verifyMessage(message, zone({ "pombo1._domainkey.a.co": [`p=${short}`] }));
  expect(found).toMatchObject({ result: "fail", reason: "the RSA key has 512 bits" });
});

test("lookups that fail for now are temporary, missing names are not", async () => {
  const message = handSigned(GOOD);
  expect((await verifyMessage(message, () => Promise.resolve({ kind: "failed", reason: "SERVFAIL" })))[0]?.result).toBe(
    "temperror",
  );
  expect((await verifyMessage(message, () => Promise.reject(new Error("down"))))[0]?.result).toBe("temperror");
  for (const kind of ["no_name", "no_data"] as const)
    expect((await verifyMessage(message, () => Promise.resolve({ kind, server: "x" })))[0]?.result).toBe("fail");
  expect((await verifyMessage(message, zone({ "k._domainkey.a.co": [] })))[0]).toMatchObject({
    result: "fail",
    reason: "the name holds no DKIM key",
  });
});

test("the right key is found beside other text at the same name", async () => {
  expect((await verifyMessage(handSigned(GOOD), zone({ "k._domainkey.a.co": ["hello", RECORD] })))[0]?.result).toBe(
    "pass",
  );
});

test("an unsigned message is none", async () => {
  expect(await verifyMessage(Buffer.from(MESSAGE), zone({}))).toMatchObject([{ result: "none" }]);
});

test("at most ten signatures are looked at, from the top", async () => {
  const message = Buffer.from(`${"DKIM-Signature: v=1; x\r\n".repeat(50)}${MESSAGE}`);
  expect((await verifyMessage(message, zone({}))).length).toBe(MAX_SIGNATURES);
});

test("a header out of all proportion is not worked on", async () => {
  const message = Buffer.concat([
    handSigned(GOOD).subarray(0, -MESSAGE.length),
    Buffer.from("X: y\r\n".repeat(3_000)),
    Buffer.from(MESSAGE),
  ]);
  expect(await verdict(message)).toMatchObject({
    result: "fail",
    reason: "the header is too large",
  });
});

test("nothing that a stranger writes makes the verifier throw", async () => {
  const message = composeMessage(source());
  const whole = Buffer.concat([await signMessage(message, keys, 0), message]);
  const hostile = [0x00, 0x0a, 0x0d, 0x20, 0x3a, 0x3b, 0x3d, 0x80, 0xff];
  let state = 7;
  const below = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit;
  for (let n = 0; n < 1_500; n++) {
    const copy = Buffer.from(whole);
    for (let k = below(6); k >= 0; k--) copy[below(copy.length)] = hostile[below(hostile.length)] ?? 0;
    const cut = below(4) === 0 ? copy.subarray(0, below(copy.length)) : copy;
    for (const found of await verifyMessage(cut, zone(records)))
      expect(["pass", "fail", "none"]).toContain(found.result);
  }
  for (const odd of [
    "",
    "\r\n",
    "DKIM-Signature",
    "DKIM-Signature:",
    "DKIM-Signature: ;;;;",
    "dkim-signature:=\r\n\r\n",
  ])
    await verifyMessage(Buffer.from(odd), zone({}));
});
