import { createHash } from "node:crypto";
import { expect, test } from "bun:test";
import { composeMessage, type MessageSource } from "../../../../src/protocols/mime/compose.ts";
import { generated, seeded } from "../../../support/mime/generated.ts";
import { mailbox, source } from "../../../support/mime/mailbox.ts";

// An email of one recipient without attachments or fields of its own is, octet for octet, what it was before there were
// any. Each digest was made by the composer that knew nothing of them.

const SERVICE: MessageSource["headers"] = [
  ["Feedback-ID", "transactional:01890a5d-ac96-774b-bcce-b302099a8057:a.very.long.sending.domain.exemplo.co.mz:pombo"],
  ["X-Pombo-Trace", "abcdefghijklmnopqrstuvwxyz234567abcdefghijkl"],
];

const LONG = "seven letters ".repeat(30).trim();

const PLAIN: Record<string, [source: MessageSource, digest: string]> = {
  text: [source(), "5267f345b1a89178639e2eba6e4821c8"],
  html: [source({ text: null, html: "<p>Olá</p>" }), "8d7270377abb967d1396e59f21d1c595"],
  both: [source({ text: "olá \n\nfim", html: "<p>مرحبا بكم</p>\r\n" }), "0fe829252734e88be6fcde5d2be71c6f"],
  "as the service sends it": [source({ html: `<p>${LONG}</p>`, headers: SERVICE }), "7daa4e0c119f65162571f686186f86c1"],
  "own mail": [
    source({ headers: [...SERVICE, ["Auto-Submitted", "auto-generated"]] }),
    "4e450d8f19aeae1fe693ca40d1bb1965",
  ],
  "a long subject": [source({ subject: LONG }), "5a450941cd1f4cfa43afd7adeb458e2c"],
  "a long subject beyond ASCII": [
    source({ subject: "Confirmação 😀 ".repeat(20) }),
    "041b7b6222375b36cbf2382399c07e45",
  ],
  "a quoted name": [
    source({ from: mailbox('"Silva, João (vendas)" <x@exemplo.co.mz>') }),
    "93a883d91d0042f8af16be925c7dd4f2",
  ],
  "a long name": [
    source({ from: mailbox(`"${"Ministério da Saúde, ".repeat(10)}" <x@exemplo.co.mz>`) }),
    "a53bc3a48cb2eceac673ffeb1a92d13b",
  ],
  "a reply-to": [source({ replyTo: [mailbox("Apoio <apoio@exemplo.co.mz>")] }), "5130eca2a70f75b54fd6d58694c5882e"],
  "a long recipient": [
    source({ to: [mailbox(`${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.co`)] }),
    "b33e46af33c14dc1037b09246108cd7e",
  ],
  "a recipient beyond ASCII": [source({ to: [mailbox("用户@例え.テスト")] }), "bcfca3dd8beb91586554892fbaf80fd4"],
  "its boundary in the text": [
    source({ text: `--=_${source().id}--`, html: "<p>h</p>" }),
    "ce93bd0af25ddcef58be197cbffacc4c",
  ],
  base64: [source({ text: "مرحبا بكم في المتجر\n".repeat(50) }), "31fe871f55223bd8917fcc4381206b29"],
};

const GENERATED = 2_000;
const GENERATED_DIGEST = "8b06a36a465ab32d3dcd108301ce1de0";

const digest = (octets: Uint8Array) => createHash("sha256").update(octets).digest("hex").slice(0, 32);

for (const [name, [plain, wanted]] of Object.entries(PLAIN)) {
  test(`the octets of a plain email stay as they were: ${name}`, () => {
    expect(digest(composeMessage(plain))).toBe(wanted);
  });
}

test(`the octets of ${GENERATED} generated plain emails stay as they were`, () => {
  const draw = seeded(12);
  const octets = Array.from({ length: GENERATED }, (_, n) => composeMessage(generated(draw, n)));
  expect(digest(Buffer.concat(octets))).toBe(GENERATED_DIGEST);
});
