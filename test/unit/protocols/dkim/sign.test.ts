import { createHash, createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { canonicalBody, selectFields, splitMessage } from "../../../../src/protocols/dkim/canonicalize.ts";
import { generateKeyPairs } from "../../../../src/protocols/dkim/keys.ts";
import { dkimRecordValue } from "../../../../src/protocols/dkim/record.ts";
import {
  computeSignature,
  hashInput,
  OVERSIGNED_FIELDS,
  type SigningKey,
  signMessage,
} from "../../../../src/protocols/dkim/sign.ts";
import { verifyMessage } from "../../../../src/protocols/dkim/verify.ts";
import { composeMessage } from "../../../../src/protocols/mime/compose.ts";
import { mailbox, source } from "../../../support/mime/mailbox.ts";
import { corpusFolder, domainKeys, readCrlf, zone } from "../../../support/dkim/support.ts";

const AT = Date.UTC(2026, 1, 3, 4, 5, 6, 789);
const { keys, records } = await domainKeys("exemplo.co.mz");
const corpus = corpusFolder();

async function signed(message: Uint8Array): Promise<Buffer> {
  return Buffer.concat([await signMessage(message, keys, AT), message]);
}

/** The judgement of an independent verifier: one status per signature. */
async function judged(message: Uint8Array): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(message), {
    resolver: (name: string) => Promise.resolve([records[name] ?? []]),
  });
  return results.map((result: { status: { result: string } }) => result.status.result);
}

async function ours(message: Uint8Array): Promise<string[]> {
  return (await verifyMessage(message, zone(records))).map(({ result }) => result);
}

function outcome(signing: Promise<Uint8Array>): Promise<"signed" | "refused"> {
  return signing.then(
    () => "signed",
    () => "refused",
  );
}

/** The key of RFC 8463 A.2, brought into PKCS #8. */
function exampleKey() {
  const seed = Buffer.from("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", "base64");
  return createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  });
}

test("the example key of RFC 8463 A.2 has its published half", () => {
  const spki = createPublicKey(exampleKey()).export({ type: "spki", format: "der" });
  expect(spki.subarray(12).toString("base64")).toBe("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
});

test.skipIf(corpus === null)("the Ed25519 signature of RFC 8463 A.3 is reproduced octet for octet", async () => {
  const { fields, body } = splitMessage(Buffer.from(readCrlf(join(corpus ?? "", "rfc8463-example.msg")), "latin1"));
  expect(createHash("sha256").update(canonicalBody(body, "relaxed")).digest("base64")).toBe(
    "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=",
  );
  const field = fields.find(({ raw }) => raw.includes("a=ed25519-sha256"))?.raw ?? "";
  const unsigned = field.slice(0, field.lastIndexOf("b=") + 2);
  const names = ["from", "to", "subject", "date", "message-id", "from", "subject", "date"];
  const key = {
    domain: "football.example.com",
    selector: "brisbane",
    algorithm: "ed25519-sha256" as const,
    privateKey: exampleKey(),
  };
  const signature = await computeSignature(hashInput(selectFields(fields, names, "relaxed"), unsigned), key);
  expect(Buffer.from(signature).toString("base64")).toBe(
    "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==",
  );
});

test("the field has the tags of R56 to R59 and is folded at 78", async () => {
  const header = Buffer.from(
    await signMessage(composeMessage(source({ headers: [["Feedback-ID", "a:b:c:pombo"]] })), keys, AT),
  ).toString("latin1");
  const lines = header.split("\r\n");
  expect(lines.pop()).toBe("");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(78);
  const unfolded = header
    .trimEnd()
    .split(/\r\n(?! )/)
    .map((field) => field.replaceAll("\r\n", ""));
  expect(unfolded.length).toBe(2);
  for (const [i, algorithm] of ["rsa-sha256", "ed25519-sha256"].entries()) {
    expect(unfolded[i]).toStartWith(
      `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; d=exemplo.co.mz; s=pombo${i + 1}; t=1770091506; bh=`,
    );
    expect(unfolded[i]).not.toMatch(/[ ;]l=/);
    const names = (/ h=([^;]+);/.exec(unfolded[i] ?? "")?.[1] ?? "").split(":").map((name) => name.trim());
    for (const name of OVERSIGNED_FIELDS) {
      const present = ["Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post", "X-Pombo-Trace"].includes(name) ? 0 : 1;
      expect([name, names.filter((one) => one === name).length]).toEqual([name, present + 1]);
    }
    expect(names.filter((name) => name === "Content-Transfer-Encoding").length).toBe(1);
  }
});

test("a plain message has the h= that it always had", async () => {
  const header = Buffer.from(await signMessage(composeMessage(source()), keys, AT)).toString("latin1");
  expect(/ h=([^;]+);/.exec(header)?.[1]?.replace(/\s+/g, "")).toBe(
    "From:From:Subject:Subject:Date:Date:To:To:Reply-To:Message-ID:Message-ID:MIME-Version:MIME-Version:" +
      "Content-Type:Content-Type:List-Unsubscribe:List-Unsubscribe-Post:Feedback-ID:X-Pombo-Trace:Content-Transfer-Encoding",
  );
});

test("Cc and both fields of unsubscribing are listed once more than present, In-Reply-To and References as often", async () => {
  const message = source({
    cc: [mailbox("b@b.co")],
    headers: [
      ["List-Unsubscribe", "<https://exemplo.co.mz/u/1>"],
      ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
      ["In-Reply-To", "<1@b.co>"],
      ["References", "<1@b.co>"],
      ["X-Own", "is not listed"],
    ],
  });
  const header = Buffer.from(await signMessage(composeMessage(message), keys, AT)).toString("latin1");
  const names = (/ h=([^;]+);/.exec(header)?.[1] ?? "").split(":").map((name) => name.trim());
  const count = (name: string) => names.filter((one) => one === name).length;
  expect(
    ["Cc", "List-Unsubscribe", "List-Unsubscribe-Post", "In-Reply-To", "References", "X-Own"].map((name) =>
      count(name),
    ),
  ).toEqual([2, 2, 2, 1, 1, 0]);
});

const MESSAGES = {
  "text only": source(),
  alternative: source({
    text: "olá \n\n\nfim \n",
    html: "<p>مرحبا بكم</p>\r\n\r\n",
    subject: "Olá 😀 ".repeat(20),
    replyTo: [mailbox('"a, b" <r@b.co>')],
  }),
  "every field": source({
    headers: [
      ["List-Unsubscribe", "<https://exemplo.co.mz/u/1>"],
      ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
      ["Feedback-ID", "a:b:c:pombo"],
      ["X-Pombo-Trace", "abc"],
    ],
  }),
  "copies, attachments and an inline image": source({
    html: "<img src=cid:logo>",
    to: [mailbox("a@b.co"), mailbox("Ana <b@b.co>")],
    cc: [mailbox("João <c@b.co>")],
    attachments: [
      { filename: "fatura nº 1.pdf", contentType: "application/pdf", contentId: null, content: Buffer.alloc(5_000, 7) },
      { filename: "logo.png", contentType: "image/png", contentId: "logo", content: Buffer.alloc(100) },
    ],
  }),
  "an internationalised address": source({ to: [mailbox("用户@例え.テスト")] }),
};

for (const [what, message] of Object.entries(MESSAGES)) {
  test(`both signatures pass an independent verifier and ours: ${what}`, async () => {
    const octets = await signed(composeMessage(message));
    expect(await judged(octets)).toEqual(["pass", "pass"]);
    expect(await ours(octets)).toEqual(["pass", "pass"]);
  });
}

test("a message without a body is signed over the empty body", async () => {
  for (const message of ["From: a@exemplo.co.mz\r\n\r\n", "From: a@exemplo.co.mz\r\n"]) {
    const octets = await signed(Buffer.from(message));
    expect(await ours(octets)).toEqual(["pass", "pass"]);
    expect(octets.toString()).toContain("bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  }
  expect(await judged(await signed(Buffer.from("From: a@exemplo.co.mz\r\n\r\n")))).toEqual(["pass", "pass"]);
});

const ALTERATIONS: [what: string, alter: (message: string) => string][] = [
  ["a word of the body", (message) => message.replace("Ana.", "Eva.")],
  ["a line added to the body", (message) => `${message}more\r\n`],
  ["the subject", (message) => message.replace("Subject: Hello", "Subject: Hallo")],
  ["the recipient", (message) => message.replace("To: ana@", "To: eva@")],
  ["a second From on top", (message) => `From: evil@example.com\r\n${message}`],
  ["a second Subject at the end of the header", (message) => message.replace("\r\n\r\n", "\r\nSubject: evil\r\n\r\n")],
  ["a Reply-To where there was none", (message) => `Reply-To: evil@example.com\r\n${message}`],
  ["a List-Unsubscribe where there was none", (message) => `List-Unsubscribe: <https://evil.example>\r\n${message}`],
  ["another content type", (message) => message.replace("text/plain", "text/html")],
  ["another domain in the signature", (message) => message.replaceAll("d=exemplo.co.mz", "d=example.co.mz")],
];

/** Of a message that has all of the fields. */
const FULL = source({
  cc: [mailbox("b@b.co")],
  headers: [
    ["List-Unsubscribe", "<https://exemplo.co.mz/u/1>"],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
    ["References", "<1@b.co>"],
  ],
  attachments: [
    { filename: "a.txt", contentType: "text/plain", contentId: null, content: Buffer.from("an invoice of 10") },
  ],
});

const FULL_ALTERATIONS: typeof ALTERATIONS = [
  ["a second Cc", (message) => `Cc: evil@example.com\r\n${message}`],
  ["a second List-Unsubscribe", (message) => `List-Unsubscribe: <https://evil.example>\r\n${message}`],
  ["a second List-Unsubscribe-Post", (message) => `List-Unsubscribe-Post: evil\r\n${message}`],
  ["List-Unsubscribe", (message) => message.replace("/u/1>", "/u/2>")],
  ["List-Unsubscribe-Post", (message) => message.replace("=One-Click", "=One-Clack")],
  ["References", (message) => message.replace("References: <1@b.co>", "References: <2@b.co>")],
  ["the attachment's name", (message) => message.replace('filename="a.txt"', 'filename="b.txt"')],
  ["the attachment", (message) => message.replace(btoa("an invoice of 10"), btoa("an invoice of 90"))],
];

for (const [what, alter, original] of [
  ...ALTERATIONS.map((one) => [...one, source()] as const),
  ...FULL_ALTERATIONS.map((one) => [...one, FULL] as const),
]) {
  test(`no signature passes after a change of ${what} (R58)`, async () => {
    const octets = (await signed(composeMessage(original))).toString("latin1");
    const altered = alter(octets);
    expect(altered).not.toBe(octets);
    for (const results of [await judged(Buffer.from(altered, "latin1")), await ours(Buffer.from(altered, "latin1"))]) {
      expect(results.length).toBe(2);
      expect(results).not.toContain("pass");
    }
  });
}

test("what relays may do does not break a signature", async () => {
  const octets = (
    await signed(
      composeMessage(
        source({
          subject: "one two three four five six seven eight nine ten eleven twelve thirteen",
        }),
      ),
    )
  ).toString("latin1");
  const relayed = `Received: by x\r\n${octets.replace("Subject: ", "SUBJECT:   ").replace("seven ", "seven\r\n\t ").replace("Ana.\r\n", "Ana. \t\r\n\r\n\r\n")}`;
  expect(await judged(Buffer.from(relayed, "latin1"))).toEqual(["pass", "pass"]);
  expect(await ours(Buffer.from(relayed, "latin1"))).toEqual(["pass", "pass"]);
});

test("signing the same message twice at one time gives the same octets", async () => {
  const message = composeMessage(source());
  expect(await signMessage(message, keys, AT)).toEqual(await signMessage(message, keys, AT));
});

test("nothing comes back unsigned: every failure throws", async () => {
  const message = composeMessage(source());
  const [rsa, ed25519] = keys;
  const short = generateKeyPairSync("rsa", { modulusLength: 512 }).privateKey;
  const wrong: SigningKey[][] = [
    [],
    [{ ...rsa, privateKey: ed25519.privateKey }],
    [{ ...ed25519, privateKey: rsa.privateKey }],
    [{ ...rsa, privateKey: createPublicKey(rsa.privateKey) }],
    [{ ...rsa, privateKey: createSecretKey(Buffer.alloc(32)) }],
    [{ ...rsa, privateKey: short }],
    [{ ...rsa, domain: "a.co; l=0" }],
    [{ ...rsa, domain: "" }],
    [{ ...rsa, selector: "a\r\nX: y" }],
    [rsa, { ...ed25519, selector: "é" }],
    Array.from({ length: 9 }, () => rsa),
  ];
  for (const list of wrong) expect(await outcome(signMessage(message, list, AT))).toBe("refused");
  expect(await outcome(signMessage(message, keys, Number.NaN))).toBe("refused");
  for (const malformed of [
    "To: a@b.co\r\n\r\nx",
    "From: a\r\nFrom: b\r\n\r\nx",
    "From: a\nBcc: b\r\n\r\nx",
    "From: a\rb\r\n\r\nx",
    "From: a\r\nnot a field\r\n\r\nx",
    "",
  ]) {
    expect(await outcome(signMessage(Buffer.from(malformed), keys, AT))).toBe("refused");
  }
});

test("new keys are RSA of 2048 bits and Ed25519, published as R57 says", async () => {
  const { rsa, ed25519 } = await generateKeyPairs();
  expect(createPrivateKey(rsa.privateKeyPem).asymmetricKeyDetails?.modulusLength).toBe(2_048);
  expect(dkimRecordValue(rsa)).toBe(`v=DKIM1; k=rsa; p=${rsa.publicKey}`);
  expect(createPublicKey(rsa.privateKeyPem).export({ type: "spki", format: "der" }).toString("base64")).toBe(
    rsa.publicKey,
  );
  expect(Buffer.from(ed25519.publicKey, "base64").length).toBe(32);
  expect(dkimRecordValue(ed25519)).toBe(`v=DKIM1; k=ed25519; p=${ed25519.publicKey}`);
});
