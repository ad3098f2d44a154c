import { expect, test } from "bun:test";
import { generateKeyPairs, plainKeyReader } from "../../../../../src/protocols/dkim/keys.ts";
import {
  composeAndSign,
  type Composed,
  type ComposeInput,
  createComposer,
} from "../../../../../src/modules/emails/content/compose.ts";
import { prepareContent } from "../../../../../src/modules/emails/content/body.ts";
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
  });
}

test("the thread composes and signs, octet for octet, what this thread does", async () => {
  const line = realLine();
  const plain = prepareContent({ html: undefined, text: "curto" });
  for (const changes of [{}, { body: plain }, { recipient: "joão@example.com" }]) {
    const there = await createComposer(line)(input(changes));
    const here = await composeHere(input(changes));
    expect(textOf(there)).toBe(textOf(here));
    expect(there).toMatchObject({ kind: "signed", needsSmtpUtf8: "recipient" in changes });
  }
  line.close();
});

test("a key that cannot be read leaves the email unsigned, with the reason, on either thread", async () => {
  const line = realLine();
  const keys = [{ domain: "loja.test", selector: "pombo1", algorithm: "rsa-sha256" as const, pem: "no key" }];
  for (const composer of [createComposer(line), composeHere]) {
    const composed = await composer(input({ keys }));
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
  expect(textOf(await createComposer(broken)(input()))).toBe(textOf(await composeHere(input())));
});

test("a row that cannot be read throws, as a bug does", async () => {
  const line = realLine();
  await expect(createComposer(line)(input({ recipient: "nobody" }))).rejects.toThrow("cannot be read");
  line.close();
});
