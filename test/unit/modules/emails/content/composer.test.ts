import { expect, test } from "bun:test";
import { generateKeyPairs, plainKeyReader } from "../../../../../src/protocols/dkim/keys.ts";
import {
  composeAndSign,
  type Composed,
  type ComposeInput,
  createComposer,
  findLargeBuffers,
} from "../../../../../src/modules/emails/content/compose.ts";
import { prepareContent } from "../../../../../src/modules/emails/content/body.ts";
import type { ComposeExtras, StoredAttachment } from "../../../../../src/modules/emails/content/extras.ts";
import { ThreadClient, type ThreadPort } from "../../../../../src/platform/worker-threads/worker-thread.ts";

const { rsa, ed25519 } = await generateKeyPairs();

function input(changes: Partial<ComposeInput> = {}): ComposeInput {
  return {
    uid: "01900000-0000-7000-8000-000000000000",
    messageId: "01900000-0000-7000-8000-000000000000@loja.test",
    workspaceUid: "01900000-0000-7000-8000-0000000000aa",
    createdAt: Date.UTC(2026, 0, 1),
    sender: "Loja <loja@loja.test>",
    recipient: "maria@example.com",
    replyTo: null,
    subject: "Olá",
    returnPath: "b+abc@mail.test",
    domain: "loja.test",
    body: prepareContent({ html: `<p>${"Olá, a encomenda seguiu. ".repeat(50)}</p>`, text: undefined }),
    keys: [
      { domain: "loja.test", selector: "pombo1", algorithm: "rsa-sha256", pem: rsa.privateKeyPem },
      { domain: "loja.test", selector: "pombo2", algorithm: "ed25519-sha256", pem: ed25519.privateKeyPem },
    ],
    at: Date.UTC(2026, 0, 1),
    ...changes,
  };
}

const composeHere = (email: ComposeInput) => composeAndSign(email, plainKeyReader());

const textOf = (composed: Composed) =>
  composed.kind === "signed" ? Buffer.from(composed.message).toString("latin1") : composed.reason;

function realLine(): ThreadClient<ComposeInput, Composed> {
  return new ThreadClient({
    open: () => new Worker(new URL("../../../../../src/server/mail-worker.ts", import.meta.url)),
    report: () => undefined,
    findLarge: findLargeBuffers,
  });
}

const MIB = 1_048_576;
const CONTENT = Buffer.from(Array.from({ length: MIB * 1.5 }, (_, i) => (i * 7) % 251));

/** Of 1.5 MiB in two pieces, whose buffers are their own, as a database gives them. */
function attachment(encoding: "plain" | "zstd" = "plain"): StoredAttachment {
  const pieces = [CONTENT.subarray(0, MIB), CONTENT.subarray(MIB)].map((piece) =>
    encoding === "plain" ? new Uint8Array(piece) : new Uint8Array(Bun.zstdCompressSync(piece)),
  );
  const bytes = CONTENT.length;
  return { filename: "relatório.pdf", contentType: "application/pdf", contentId: null, bytes, encoding, pieces };
}

function extras(changes: Partial<ComposeExtras> = {}): ComposeExtras {
  const to = [{ name: null, address: "maria@example.com" }];
  return { to, cc: [], replyTo: [], headers: [], attachments: [], ...changes };
}

test("the thread composes and signs, octet for octet, what this thread does", async () => {
  const line = realLine();
  const plain = prepareContent({ html: undefined, text: "curto" });
  for (const changes of [{}, { body: plain }, { recipient: "joão@example.com" }]) {
    const there = await createComposer(line)(() => input(changes));
    const here = await composeHere(input(changes));
    expect(textOf(there)).toBe(textOf(here));
    expect(there).toMatchObject({ kind: "signed", needsSmtpUtf8: "recipient" in changes });
  }
  line.close();
});

test("a key that cannot be read leaves the email unsigned, with the reason, on either thread", async () => {
  const line = realLine();
  const keys = [{ domain: "loja.test", selector: "pombo1", algorithm: "rsa-sha256" as const, pem: "no key" }];
  for (const composer of [createComposer(line), (load: () => ComposeInput) => composeHere(load())]) {
    const composed = await composer(() => input({ keys }));
    expect(textOf(composed)).toContain("could not be signed");
    expect(composed.kind).toBe("unsigned");
  }
  line.close();
});

test("without the thread the email is composed here", async () => {
  const broken = new ThreadClient<ComposeInput, Composed>({
    open: (): ThreadPort => {
      throw new Error("no threads today");
    },
    report: () => undefined,
  });
  expect(textOf(await createComposer(broken)(() => input()))).toBe(textOf(await composeHere(input())));
});

test("a row that cannot be read throws, as a bug does", async () => {
  const line = realLine();
  await expect(createComposer(line)(() => input({ recipient: "nobody" }))).rejects.toThrow("cannot be read");
  line.close();
});

test("extras that say what a plain email says change no octet", async () => {
  const replyTo = "r@loja.test";
  const plain = textOf(await composeHere(input({ replyTo })));
  const said = input({ extras: extras({ replyTo: [{ name: null, address: replyTo }] }) });
  expect(textOf(await composeHere(said))).toBe(plain);
});

test("recipients, copies, fields and attachments of an email stand in its message", async () => {
  const composed = textOf(
    await composeHere(
      input({
        // A blind copy: its address stands nowhere.
        recipient: "hidden@example.com",
        replyTo: "not@used.test",
        extras: extras({
          to: [
            { name: "Maria, a Boa", address: "maria@example.com" },
            { name: null, address: "b@example.com" },
          ],
          cc: [{ name: "João", address: "joao@example.com" }],
          replyTo: [{ name: null, address: "a@loja.test" }],
          headers: [["X-Order", "nº 5"]],
          attachments: [attachment()],
        }),
      }),
    ),
  );
  expect(composed).toContain('\r\nTo: "Maria, a Boa" <maria@example.com>, b@example.com\r\n');
  expect(composed).toContain("\r\nCc: =?utf-8?B?Sm/Do28=?= <joao@example.com>\r\nReply-To: a@loja.test\r\n");
  expect(composed).toContain("\r\nX-Order: =?utf-8?B?bsK6IDU=?=\r\nMIME-Version: 1.0\r\n");
  expect(composed).not.toContain("hidden@");
  expect(composed).not.toContain("not@used");
  expect(composed).toContain("multipart/mixed;");
});

test("pieces that are compressed give the octets of plain ones", async () => {
  const [plain, compressed] = await Promise.all(
    (["plain", "zstd"] as const).map(async (encoding) =>
      textOf(await composeHere(input({ extras: extras({ attachments: [attachment(encoding)] }) }))),
    ),
  );
  expect(compressed).toBe(plain);
});

test("half a file is sent to nobody", async () => {
  for (const encoding of ["plain", "zstd"] as const) {
    const whole = attachment(encoding);
    const cut = { ...whole, pieces: whole.pieces.slice(0, 1) };
    await expect(composeHere(input({ extras: extras({ attachments: [cut] }) }))).rejects.toThrow("of its");
  }
});

test("an address beyond ASCII needs SMTPUTF8 wherever it stands (R21)", async () => {
  const abroad = [{ name: null, address: "joão@example.com" }];
  for (const changes of [
    { recipient: "joão@example.com", extras: extras() },
    ...[{ to: abroad }, { cc: abroad }, { replyTo: abroad }].map((one) => ({ extras: extras(one) })),
  ])
    expect(await composeHere(input(changes))).toMatchObject({ kind: "signed", needsSmtpUtf8: true });
  expect(await composeHere(input({ extras: extras() }))).toMatchObject({ needsSmtpUtf8: false });
});

test("large pieces go to the thread without a copy, and the message is the same", async () => {
  const line = realLine();
  const given: StoredAttachment[] = [];
  const load = () => {
    given.push(attachment());
    return input({ extras: extras({ attachments: given.slice(-1) }) });
  };
  const there = textOf(await createComposer(line)(load));
  expect(given.map(({ pieces }) => pieces.map(({ byteLength }) => byteLength))).toEqual([[0, 0]]);
  expect(there).toBe(textOf(await composeHere(load())));
  line.close();
});

test("a piece that two attachments share, or that is a part of a larger buffer, goes over whole", async () => {
  const line = realLine();
  const part = { ...attachment(), bytes: 199_990, pieces: [Buffer.alloc(MIB, "a").subarray(10, 200_000)] };
  const load = () => {
    const shared = attachment();
    return input({ extras: extras({ attachments: [shared, { ...shared, filename: "b" }, part] }) });
  };
  const here = textOf(await composeHere(load()));
  expect(textOf(await createComposer(line)(load))).toBe(here);
  expect(part.pieces[0]?.byteLength).toBe(199_990);
  line.close();
});

test("a thread that dies with the pieces it was given takes no email with it", async () => {
  let hears: (event: Event) => void = () => undefined;
  const line = new ThreadClient<ComposeInput, Composed>({
    open: (): ThreadPort => ({
      postMessage(message, transfer) {
        structuredClone(message, { transfer });
        setImmediate(() => hears(new Event("error")));
      },
      addEventListener: (_type: string, listener: (event: never) => void) =>
        void (hears = listener as (event: Event) => void),
      terminate: () => undefined,
      unref: () => undefined,
    }),
    report: () => undefined,
    findLarge: findLargeBuffers,
  });
  const load = () => input({ extras: extras({ attachments: [attachment()] }) });
  expect(textOf(await createComposer(line)(load))).toBe(textOf(await composeHere(load())));
});

/** RFC 8463 §A.2, behind the prefix of PKCS #8 (RFC 8410 §7): its signatures are always the same. */
const KNOWN_KEY = `-----BEGIN PRIVATE KEY-----
${Buffer.concat([
  Buffer.from("302e020100300506032b657004220420", "hex"),
  Buffer.from("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", "base64"),
]).toString("base64")}
-----END PRIVATE KEY-----`;

test("a plain email with its signature is, octet for octet, what it was before there were any others", async () => {
  const keys = [{ domain: "loja.test", selector: "s", algorithm: "ed25519-sha256" as const, pem: KNOWN_KEY }];
  const digests: string[] = [];
  for (const changes of [{}, { replyTo: "ajuda@loja.test" }, { workspaceUid: null }, { recipient: "joão@example.com" }])
    digests.push(Bun.SHA256.hash(textOf(await composeHere(input({ keys, ...changes }))), "hex").slice(0, 20));
  // Made by the service that had no other members.
  expect(digests).toEqual([
    ...["8b214f383ed4c0693620", "6c647e60f266073a80c1", "bef99066b52082f48e52", "d262964f19276ad85a89"],
  ]);
});
