// What a message of the sandbox's inbox carries: attachments, addressees, the way to unsubscribe.

import { expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openInbox } from "../../../src/sandbox/mx/inbox.ts";
import { sandboxRoutes } from "../../../src/sandbox/web/routes.ts";
import { lines, received } from "../../support/sandbox/kit.ts";

const PIXEL = "R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==";

const EVERYTHING = lines(
  "From: Loja <loja@shop.example>",
  "To: =?utf-8?Q?Jos=C3=A9?= <jose@example.com>, ana@example.com, Team: rui@example.com;",
  "Cc: contas@example.com",
  "Reply-To: Ajuda <ajuda@shop.example>",
  "List-Unsubscribe: <http://localhost:8080/u/abc>,",
  " <mailto:u+abc@bounce.example>, <javascript:alert(1)>",
  "Content-Type: multipart/mixed; boundary=m",
  "",
  "--m",
  "Content-Type: multipart/related; boundary=r",
  "",
  "--r",
  "Content-Type: text/html",
  "",
  '<p>Recibo</p><img src="cid:logo"><img src="https://track.example/p.gif">',
  "--r",
  "Content-Type: image/gif",
  "Content-ID: <logo>",
  "Content-Disposition: inline; filename=logo.gif",
  "Content-Transfer-Encoding: base64",
  "",
  PIXEL,
  "--r--",
  "--m",
  "Content-Type: text/html; charset=utf-8",
  "Content-Disposition: attachment; filename*=utf-8''recibo%20n%C2%BA%201.html",
  "",
  "<script>alert(1)</script>",
  "--m--",
);

function open(raw: Buffer<ArrayBuffer>) {
  const inbox = openInbox(":memory:");
  inbox.add(received({ raw }));
  const app = new Elysia({ aot: false }).use(sandboxRoutes(inbox));
  return (path: string) => app.handle(new Request(`http://localhost/sandbox/messages/1${path}`));
}

test("attachments are listed with name, type and size, and those that the html shows with their id", async () => {
  const message = (await (await open(EVERYTHING)("")).json()) as Record<string, unknown>;
  expect(message["attachments"]).toEqual([
    { filename: "logo.gif", contentType: "image/gif", contentId: "logo", sizeBytes: 43 },
    { filename: "recibo nº 1.html", contentType: "text/html", contentId: null, sizeBytes: 25 },
  ]);
  expect(message["remoteImages"]).toBe(1);
});

test("an inline image is a part of the html, so that nothing has to be fetched", async () => {
  const html = await (await open(EVERYTHING)("/html")).text();
  expect(html).toContain(`<img src="data:image/gif;base64,${PIXEL}">`);
});

test("an attachment is a file to be saved, byte for byte, and never a page", async () => {
  const answer = await open(EVERYTHING)("/attachments/1");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/octet-stream");
  expect(answer.headers.get("content-disposition")).toBe(
    `attachment; filename="recibo n_ 1.html"; filename*=UTF-8''recibo%20n%C2%BA%201.html`,
  );
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  expect(answer.headers.get("content-security-policy")).toStartWith("sandbox; default-src 'none'");
  expect(await answer.text()).toStartWith("<script>alert(1)</script>");
  const image = await open(EVERYTHING)("/attachments/0");
  expect(Buffer.from(await image.arrayBuffer()).toString("base64")).toBe(PIXEL);
});

test("an attachment's hostile name cannot write a header field", async () => {
  const raw = lines(
    "Content-Type: application/pdf",
    `Content-Disposition: attachment; filename*=utf-8''a%0D%0AX-Evil%3A%201%22%00%E2%80%AEfdp.exe`,
    "",
    "x",
  );
  const answer = await open(raw)("/attachments/0");
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-evil")).toBeNull();
  expect(answer.headers.get("content-disposition")).not.toMatch(/[\r\n\0\u202e]/);
});

test.each(["/attachments/2", "/attachments/-1", "/attachments/x", "/attachments/1e0", "/attachments/99999"])(
  "%s of a message that has two is 404",
  async (path) => {
    const answer = await open(EVERYTHING)(path);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ errors: [{ code: "NOT_FOUND" }] });
  },
);

test("addressees are those of the header, decoded; only addresses that can be opened unsubscribe", async () => {
  const message = (await (await open(EVERYTHING)("")).json()) as Record<string, unknown>;
  expect(message["to"]).toBe("grace@example.com");
  expect(message["addressees"]).toEqual({
    to: ["José <jose@example.com>", "ana@example.com", "rui@example.com"],
    cc: ["contas@example.com"],
    replyTo: ["Ajuda <ajuda@shop.example>"],
  });
  expect(message["unsubscribe"]).toEqual(["http://localhost:8080/u/abc", "mailto:u+abc@bounce.example"]);
});

test("a message without any of it has empty lists", async () => {
  expect(await (await open(lines("Subject: x", "", "text"))("")).json()).toMatchObject({
    attachments: [],
    addressees: { to: [], cc: [], replyTo: [] },
    unsubscribe: [],
  });
});
