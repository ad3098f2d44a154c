import { expect, test } from "bun:test";
import { writeSendCurl } from "../../../src/dashboard/web/pages/workspace/parts/curl.ts";

const EMAIL = { from: "Loja <loja@example.com>", to: "maria@example.net", subject: "Olá", text: "Bom dia" };

/** The words of a command as a shell takes them apart. */
async function wordsOf(command: string, key = ""): Promise<string[]> {
  const script = command.replace(/^curl /, "printf '%s\\0' ");
  const child = Bun.spawn(["sh", "-c", script], { env: { POMBO_KEY: key }, stdout: "pipe" });
  return (await new Response(child.stdout).text()).split("\0").slice(0, -1);
}

test("a shell reads the command as it is meant, whatever the email holds", async () => {
  const subject = `It's "5 $HOME" \`id\` $(id) \\ !`;
  const text = "one\ntwo 'three'";
  const words = await wordsOf(writeSendCurl("http://localhost:8080", "svc_x", { ...EMAIL, subject, text }));
  const [url, , key, , type, , body = ""] = words;
  expect([url, key, type]).toEqual([
    "http://localhost:8080/api/v1/emails",
    "X-API-Key: svc_x",
    "Content-Type: application/json",
  ]);
  expect(JSON.parse(body)).toEqual({ ...EMAIL, subject, text });
});

test("without a key the reader's variable is taken, and what is empty is left out", async () => {
  const words = await wordsOf(writeSendCurl("http://localhost", null, { ...EMAIL, html: null, replyTo: null }), "mine");
  expect(words[2]).toBe("X-API-Key: mine");
  expect(JSON.parse(words.at(-1) ?? "")).toEqual(EMAIL);
});

test("of a record only the members that a send takes are in it", async () => {
  const record = {
    ...EMAIL,
    id: "019aa2f0-7c1e-7b3a-9d52-4f0c6b8e1a27",
    status: "delivered",
    attempts: 1,
    bounce: null,
  };
  expect(JSON.parse((await wordsOf(writeSendCurl("http://localhost", null, record))).at(-1) ?? "")).toEqual(EMAIL);
});

test("a terminal shows what runs: marks that turn the direction of text are escaped", async () => {
  const subject = "\u202Egnp.exe\u2066\u200B";
  const command = writeSendCurl("http://localhost", "svc_x", { ...EMAIL, subject });
  expect(command).not.toMatch(/[\u200b\u202e\u2066]/);
  expect(JSON.parse((await wordsOf(command)).at(-1) ?? "").subject).toBe(subject);
});

test("of a record with all that an email carries, what a send takes as it is shown is in it", async () => {
  const carried = {
    headers: { "X-Order": "4711" },
    tag: "receipt",
    metadata: { order: "it's 4711" },
    unsubscribe: { list: "news" },
  };
  const replyToAll = ["Ajuda <ajuda@example.com>", "loja@example.com"];
  const bodyOf = async (record: object) =>
    JSON.parse((await wordsOf(writeSendCurl("http://localhost", null, { ...EMAIL, ...record }))).at(-1) ?? "");
  const record = { ...carried, kind: "to", groupId: null, sendAt: "2026-11-21T12:00:00.000Z", attachments: [] };
  expect(await bodyOf({ ...record, replyTo: "ajuda@example.com", replyToAll })).toEqual({
    ...EMAIL,
    ...carried,
    replyTo: replyToAll,
  });
  expect(await bodyOf({ replyTo: "ajuda@example.com", replyToAll: replyToAll.slice(0, 1) })).toEqual({
    ...EMAIL,
    replyTo: replyToAll[0],
  });
});
