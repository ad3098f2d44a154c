// GET /emails/{id}/attachments/{n}: the bytes of a file, to those who may see what messages say.

import { randomBytes } from "node:crypto";
import { expect, test } from "bun:test";
import { download, type SentFile, sendFiles } from "../../support/api/attachments.ts";
import { UNKNOWN_ID } from "../../support/api/kit.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { addPerson } from "../../support/people/member.ts";

const MIB = 1024 * 1024;
const SMALL: SentFile = { filename: "a.txt", contentType: "text/plain", content: Buffer.from("a") };

test("a file comes as it went in, with its name and type, and as nothing that runs", async () => {
  await using pombo = await startInstance();
  const files: SentFile[] = [
    { filename: "recibo.pdf", contentType: "application/pdf", content: randomBytes(3 * MIB + 11) },
    { filename: "Relatório “2026” 100%.html", contentType: "text/html", content: Buffer.alloc(2 * MIB, "<b>olá</b> ") },
    { filename: "vazio", contentType: "application/octet-stream", content: Buffer.alloc(0) },
  ];
  const uid = await sendFiles(pombo, files);
  const dispositions = [
    'attachment; filename="recibo.pdf"',
    `attachment; filename="Relat_rio _2026_ 100_.html"; filename*=UTF-8''Relat%C3%B3rio%20%E2%80%9C2026%E2%80%9D%20100%25.html`,
    'attachment; filename="vazio"',
  ];
  for (const [n, { content, contentType }] of files.entries()) {
    const { response, bytes } = await download(pombo, uid, n);
    expect([response.status, bytes.equals(content)]).toEqual([200, true]);
    const header = (name: string) => response.headers.get(name);
    expect([header("content-type"), header("content-disposition")]).toEqual([contentType ?? "", dispositions[n] ?? ""]);
    expect(["x-content-type-options", "cache-control", "content-security-policy"].map(header)).toEqual([
      "nosniff",
      "no-store",
      "default-src 'none'; sandbox",
    ]);
    expect(header("x-request-id")).not.toBeNull();
  }
  expect(pombo.bugs).toEqual([]);
});

test("one that is not there, or no longer, is 404, and another workspace's too", async () => {
  await using pombo = await startInstance();
  const uid = await sendFiles(pombo, [SMALL]);
  const get = async (id: string, n: number | string, key = pombo.workspace.key) => {
    const { status, body } = await pombo.workspace.call("GET", `/api/v1/emails/${id}/attachments/${n}`, { key });
    return [status, body?.errors?.[0]?.message];
  };
  expect(await get(uid, 1)).toEqual([404, "This email has no such attachment"]);
  expect(await get(UNKNOWN_ID, 0)).toEqual([404, "This workspace has no email with this id"]);
  expect((await get(uid, "x"))[0]).toBe(422);
  expect((await get(uid, "-1"))[0]).toBe(422);
  const other = await pombo.newWorkspace();
  expect((await get(uid, 0, other.key))[0]).toBe(404);
  expect((await get(uid, 0))[0]).toBe(200);
  pombo.app.db.sqlite.run("UPDATE email_attachment SET attachment_id = NULL");
  expect(await get(uid, 0)).toEqual([404, "This attachment is kept no longer"]);
});

test("viewers and operators have it only where the workspace lets them see what messages say", async () => {
  await using pombo = await startInstance();
  const uid = await sendFiles(pombo, [SMALL]);
  const people = {
    member: addPerson(pombo, { role: "member" }),
    viewer: addPerson(pombo, { role: "viewer" }),
    operator: addPerson(pombo, { role: null, isOperator: true }),
  };
  const table = async () => {
    const path = `/api/v1/emails/${uid}/attachments/0`;
    const answers = Object.values(people).map(async (person) => (await person.act("GET", path)).status);
    return Promise.all(answers);
  };
  expect(await table()).toEqual([200, 403, 403]);
  const owner = addPerson(pombo, { role: "owner" });
  await owner.act("PATCH", "/api/v1/workspace", { body: { viewersSeeContent: true, operatorsSeeContent: true } });
  expect(await table()).toEqual([200, 200, 200]);
  // The audit says what the operator read.
  const { data } = (await owner.act("GET", "/api/v1/workspace/audit")).body;
  expect(data).toContainEqual(
    expect.objectContaining({ action: "content.read", target: `emails/${uid}/attachments/0` }),
  );
});
