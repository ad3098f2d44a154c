// What the dashboard shows of SMTP: where programs hand in mail, and an email that came so, whole, to those who may see it.

import { expect, test } from "bun:test";
import { createTransport } from "nodemailer";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { freePort } from "../../support/peers/process.ts";
import { addPerson } from "../../support/people/member.ts";

const ANY_PORT = { address: "127.0.0.1", port: 0 };

const startWithSubmission = () =>
  startInstance({
    configure(config) {
      config.submission.listen = [ANY_PORT];
      config.submission.listenTls = [ANY_PORT];
    },
  });

async function handIn({ app, workspace }: Instance, message: object): Promise<string> {
  const [host, port] = (app.submission[0] ?? "").split(":");
  const transport = createTransport({
    host: host ?? "",
    port: Number(port),
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: "pombo", pass: workspace.key },
  });
  const { response } = await transport.sendMail({ from: "Loja <loja@loja.test>", ...message });
  return /[\da-f-]{36}/.exec(response)?.[0] ?? "";
}

test("a person is told the host and the ports, and null where nothing listens", async () => {
  await using pombo = await startWithSubmission();
  const { body } = await addPerson(pombo, { role: "viewer" }).call("GET", "/api/v1/auth/me");
  const port = expect.any(Number);
  expect(body.data.instance.submission).toEqual({
    host: "127.0.0.1",
    ports: [
      { port, tls: "starttls" },
      { port, tls: "implicit" },
    ],
  });
  expect(body.data.instance.submission.ports[0].port).toBe(Number(pombo.app.submission[0]?.split(":")[1]));

  await using off = await startInstance();
  const other = await addPerson(off, { role: "viewer" }).call("GET", "/api/v1/auth/me");
  expect(other.body.data.instance.submission).toBeNull();
});

test("a port may be of all addresses of both families, each named by itself", async () => {
  const port = await freePort();
  const everywhere = ["0.0.0.0", "::"].map((address) => ({ address, port }));
  await using pombo = await startInstance({
    configure(config) {
      config.submission.listen = everywhere;
    },
  });
  expect(pombo.app.submission[0]).toBe(`0.0.0.0:${port}`);
  const { body } = await addPerson(pombo, { role: "viewer" }).call("GET", "/api/v1/auth/me");
  expect(body.data.instance.submission).toEqual({ host: pombo.config.hostname, ports: [{ port, tls: "starttls" }] });
});

test("an email says that it came by SMTP; its message is for those who see what messages say", async () => {
  await using pombo = await startWithSubmission();
  const id = await handIn(pombo, {
    to: "maria@example.com",
    subject: "Recibo",
    text: "Obrigado",
    attachments: [{ filename: "recibo.csv", content: "a;b" }],
  });
  const [owner, viewer] = [addPerson(pombo, { role: "owner" }), addPerson(pombo, { role: "viewer" })];
  const { body } = await owner.act("GET", `/api/v1/emails/${id}`);
  expect(body.data).toMatchObject({ source: "smtp", subject: "Recibo", html: null, text: "Obrigado" });
  const raw = await owner.act("GET", `/api/v1/emails/${id}/raw`);
  expect([raw.status, raw.headers.get("content-type")]).toEqual([200, "message/rfc822"]);
  expect(raw.text).toContain("filename=recibo.csv");

  const hidden = await viewer.act("GET", `/api/v1/emails/${id}`);
  expect(hidden.body.data).toMatchObject({ source: "smtp", html: null, text: null });
  expect((await viewer.act("GET", `/api/v1/emails/${id}/raw`)).status).toBe(403);
  expect(pombo.bugs).toEqual([]);
});
