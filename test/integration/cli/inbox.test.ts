import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { runHere, startDesk } from "../../support/cli/kit.ts";

const ID = "01a1fd60-a478-7fc3-8fd7-7499a9ff2c17";
const CONTENT = Buffer.from(
  [
    "From: =?utf-8?q?Jos=C3=A9?= <jose@example.net>",
    "To: postmaster@mail.example.com",
    "Subject: Bad \u001B[31mthings",
    'Content-Type: multipart/mixed; boundary="=_x"',
    "",
    "--=_x",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "Ol=C3=A1 =1B]0;you are hacked=07 and =E2=80=AEturned",
    "\ttabbed",
    "--=_x",
    "Content-Type: image/png",
    "Content-Transfer-Encoding: base64",
    "",
    "AAAA\u00FF",
    "--=_x--",
    "",
  ].join("\r\n"),
  "latin1",
);
const ENTRY: Json = {
  ...{ id: ID, mailbox: "postmaster", from: "José <jose@example.net>", subject: "Bad \u001B[31mthings" },
  receivedAt: "2026-01-31T08:15:00.000Z",
};
const MAIL: Json = {
  ...{ ...ENTRY, envelopeFrom: "", helo: "mx.example.net", clientAddress: "192.0.2.7", tls: true },
  ...{ size: CONTENT.byteLength, content: CONTENT.toString("base64") },
};

function startInbox() {
  return startDesk(({ line }) => {
    if (line === `GET /operator/inbox/${ID}`) return { data: MAIL };
    if (line.startsWith("GET /operator/inbox?")) return { data: [ENTRY], meta: { has_more: false, next_cursor: null } };
    if (line === `DELETE /operator/inbox/${ID}`) return { data: { id: ID, deleted: true } };
    return { status: 404, errors: [{ code: "NOT_FOUND", message: "There is no mail with this id" }] };
  });
}

test("pombo inbox lists what came, by itself and with its options", async () => {
  await using desk = startInbox();
  const listed = await desk.run(["inbox", "--json"]);
  expect(JSON.parse(listed.out)).toEqual([ENTRY]);
  const shown = (await runHere(["inbox", "--data-dir", desk.folder], { width: 160 })).out;
  expect(shown).toContain(
    `01a1fd60-a478  2026-01-31 08:15:00  postmaster  José <jose@example.net>  Bad \uFFFD[31mthings`,
  );
});

test("pombo inbox show prints a mail as text that no terminal obeys, and with --raw its bytes", async () => {
  await using desk = startInbox();
  const { out } = await desk.run(["inbox", "show", ID]);
  expect(out).toContain("From      José <jose@example.net>");
  expect(out).toContain("To        postmaster@mail.example.com (postmaster)");
  expect(out).toContain("Client    mx.example.net [192.0.2.7]");
  expect(out).toContain("Olá \uFFFD]0;you are hacked\uFFFD and \uFFFDturned\n tabbed\n");
  expect(out).toContain("[image/png, ");
  // oxlint-disable-next-line no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
  const raw = await desk.run(["inbox", "show", ID, "--raw"]);
  expect(raw.out).toBe(CONTENT.toString("latin1"));
  expect((await desk.run(["inbox", "show", ID, "--raw", "--json"])).code).toBe(2);
});

test("pombo inbox delete deletes one, and what is not there is said", async () => {
  await using desk = startInbox();
  expect((await desk.run(["inbox", "delete", ID])).out).toBe("The mail is deleted.\n");
  const other = ID.replace("01a", "01b");
  expect((await desk.run(["inbox", "show", other])).err).toContain("There is no mail with this id");
  expect(desk.asked.map(({ line }) => line)).toEqual([`DELETE /operator/inbox/${ID}`, `GET /operator/inbox/${other}`]);
  for (const name of ["show", "delete"]) expect((await desk.run(["inbox", name])).code).toBe(2);
});

test("the beginning of an id that the list shows is enough", async () => {
  await using desk = startInbox();
  expect((await desk.run(["inbox", "delete", "01A1FD60-a478"])).out).toBe("The mail is deleted.\n");
  expect(desk.asked.at(-1)?.line).toBe(`DELETE /operator/inbox/${ID}`);
  const unknown = await desk.run(["inbox", "show", "x/../y"]);
  expect(unknown).toEqual({
    code: 1,
    out: "",
    err: 'There is no mail "x/../y". Give its id, at least the first 8 characters of its id; pombo inbox lists them.\n',
  });
});

test("its help tells of all three", async () => {
  await using desk = startInbox();
  for (const words of [
    ["inbox", "--help"],
    ["help", "inbox"],
  ]) {
    const { out } = await desk.run(words);
    for (const name of ["pombo inbox\n", "pombo inbox show ID [--raw]", "pombo inbox delete ID"])
      expect(out).toContain(name);
  }
  expect((await desk.run(["inbox", "show", "--help"])).out).toContain("Usage: pombo inbox show ID [--raw]");
});
