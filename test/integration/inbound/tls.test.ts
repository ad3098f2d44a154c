// STARTTLS: offered always and required never, with the certificate of the configured files or one of our own.
import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { type CertificateFiles, followFiles } from "../../../src/modules/certificates/index.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { createSelfSigned } from "../../../src/protocols/x509/self-signed.ts";
import {
  AUTHORITY,
  OTHER_CERTIFICATE,
  RELAY_CERTIFICATE,
  type TestCertificate,
} from "../../support/fakes/certificates.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Desk, HOSTNAME, startDesk, type Talk, until } from "../../support/inbound/kit.ts";

setDefaultTimeout(20_000);

interface Scratch extends Disposable {
  files: { certificateFile: string; keyFile: string };
  write(pair: TestCertificate): void;
}

function scratch(pair: TestCertificate): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "pombo-inbound-"));
  const files = { certificateFile: join(folder, "mail.pem"), keyFile: join(folder, "mail.key") };
  const write = ({ cert, key }: TestCertificate) => {
    writeFileSync(files.certificateFile, cert);
    writeFileSync(files.keyFile, key);
  };
  write(pair);
  return { files, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

async function shown(desk: Desk): Promise<X509Certificate> {
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  expect(await talk.say("STARTTLS")).toStartWith("220");
  await talk.secure();
  return new X509Certificate((talk.socket as TLSSocket).getPeerCertificate().raw);
}

test("without files a certificate of its own name is made, which a client may trust that wants to", async () => {
  await using desk = await startDesk();
  const certificate = await shown(desk);
  expect(certificate.subject).toBe(`CN=${HOSTNAME}`);
  expect(certificate.checkHost(HOSTNAME)).toBe(HOSTNAME);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now());
  expect(Date.parse(certificate.validTo)).toBeGreaterThan(Date.now() + 9 * 365 * 86_400_000);

  const client = new SMTPConnection({
    host: "127.0.0.1",
    port: desk.port,
    requireTLS: true,
    tls: { ca: certificate.toString(), servername: HOSTNAME },
  });
  await new Promise<void>((resolve, reject) => {
    client.once("error", reject);
    client.connect(() => resolve());
  });
  const { address } = desk.sent();
  await new Promise<void>((resolve, reject) =>
    client.send({ from: "", to: address }, "Subject: x\r\n\r\nx\r\n", (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
  client.quit();
  expect(desk.messages.map(({ isTls, helo }) => [isTls, helo === ""])).toEqual([[true, false]]);
});

test("certificates made are of any name's length and of any date, and no two alike", () => {
  const serial = new Uint8Array(16).fill(0xff);
  for (const [hostname, now] of [
    ["a.example", Date.UTC(2026, 0, 1)],
    [`${"a".repeat(60)}.${"b".repeat(60)}.example`, Date.UTC(2039, 11, 31, 23, 59, 59)],
    [`${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.example`, Date.UTC(2055, 5, 1)],
  ] as const) {
    const { cert, key } = createSelfSigned([hostname], { now, serial });
    const certificate = new X509Certificate(cert);
    expect(certificate.checkHost(hostname)).toBe(hostname);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(Date.parse(certificate.validFrom)).toBe(now - 86_400_000);
    expect(certificate.serialNumber).toBe(`7F${"FF".repeat(15)}`);
    expect(key).toStartWith("-----BEGIN PRIVATE KEY-----");
  }
});

test("the configured certificate is shown, and a new one within a minute of its files' change, to the next client", async () => {
  using place = scratch(RELAY_CERTIFICATE);
  const clock = fakeClock();
  await using desk = await startDesk({ clock, files: place.files, limits: { silenceMs: 3_600_000 } });
  expect((await shown(desk)).subjectAltName).toContain("relay.test");
  using before = await desk.client();
  await before.say("EHLO client.test");
  await before.say("STARTTLS");
  await before.secure();
  place.write(OTHER_CERTIFICATE);
  clock.advance(60_000);
  expect((await shown(desk)).subjectAltName).toContain("other.test");
  expect(await before.say("EHLO client.test")).toStartWith("250");
  expect(desk.events.map(({ name }) => name)).toEqual(["inbound.certificate"]);
  clock.advance(600_000);
  expect(desk.events).toHaveLength(1);
});

test("a pair that cannot be used leaves the certificate what it was, says so once, and is looked at again", async () => {
  using place = scratch(RELAY_CERTIFICATE);
  const clock = fakeClock();
  await using desk = await startDesk({ clock, files: place.files });
  // The certificate is renewed, and its key comes a little later.
  const { cert, key } = createSelfSigned(["new.test"], { now: Date.now(), serial: systemRandom.bytes(16) });
  writeFileSync(place.files.certificateFile, cert);
  for (let minute = 0; minute < 3; minute++) clock.advance(60_000);
  expect((await shown(desk)).subjectAltName).toContain("relay.test");
  expect(desk.events.map(({ name, level }) => [name, level])).toEqual([["inbound.certificate_unusable", "warn"]]);
  expect(String(desk.events[0]?.fields["reason"])).toContain("The one before stays in use.");
  rmSync(place.files.keyFile);
  clock.advance(60_000);
  writeFileSync(place.files.keyFile, key);
  clock.advance(60_000);
  expect((await shown(desk)).subjectAltName).toContain("new.test");
  expect(desk.events.at(-1)?.name).toBe("inbound.certificate");
});

test("files that cannot be used stop the start with the sentence that cures it", () => {
  using place = scratch(RELAY_CERTIFICATE);
  const { certificateFile, keyFile } = place.files;
  const open = (files: Omit<CertificateFiles, "table">) => {
    const log = { event: () => undefined, error: () => undefined };
    return () => void followFiles({ ...files, table: "inbound" }, { clock: fakeClock(), log }).stop();
  };
  expect(open(place.files)).not.toThrow();
  const key = createSelfSigned(["x.test"], { now: 0, serial: systemRandom.bytes(16) }).key;
  writeFileSync(keyFile, key);
  expect(open(place.files)).toThrow(`The key in ${keyFile} ([inbound] key_file) is not that of the certificate`);
  expect(open({ certificateFile: keyFile, keyFile })).toThrow(
    `The file ${keyFile} ([inbound] certificate_file) must hold a certificate in PEM form`,
  );
  expect(open({ certificateFile, keyFile: certificateFile })).toThrow(
    `The file ${certificateFile} ([inbound] key_file) must hold a private key without a passphrase in PEM form`,
  );
  expect(open({ certificateFile: `${certificateFile}.none`, keyFile })).toThrow("cannot be read (ENOENT");
  writeFileSync(certificateFile, RELAY_CERTIFICATE.cert.slice(0, 300));
  expect(open(place.files)).toThrow("must hold a certificate in PEM form");
  writeFileSync(certificateFile, Buffer.alloc(2 * 1024 ** 2, "a"));
  expect(open(place.files)).toThrow("larger than any certificate");
  // A chain behind the certificate is as it should be; the wrong order is not.
  place.write({ key: RELAY_CERTIFICATE.key, cert: RELAY_CERTIFICATE.cert + AUTHORITY });
  expect(open(place.files)).not.toThrow();
  place.write({ key: RELAY_CERTIFICATE.key, cert: AUTHORITY + RELAY_CERTIFICATE.cert });
  expect(open(place.files)).toThrow("whose own certificate must stand first");
});

const INJECTED =
  "MAIL FROM:<injected@example.com>\r\nRCPT TO:<postmaster>\r\nDATA\r\nSubject: injected\r\n\r\nx\r\n.\r\n";

/** Nothing of what was said in the clear has an effect inside. */
async function expectNothingInside(desk: Desk, talk: Talk): Promise<void> {
  expect(talk.heard).toBe("");
  expect(await talk.say("MAIL FROM:<>")).toBe("503 5.5.1 Error: send HELO/EHLO first\r\n");
  const offered = await talk.say("EHLO client.test");
  expect(offered).not.toContain("STARTTLS");
  expect(await talk.say("DATA")).toStartWith("503");
  await talk.message("postmaster");
  expect(await talk.say("Subject: mine\r\n\r\nx\r\n.")).toStartWith("250");
  expect(desk.messages.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["Subject: mine\r\n\r\nx\r\n"]);
  desk.messages.length = 0;
}

test.each([
  ["in the same packet", "STARTTLS\r\n", INJECTED],
  ["many of them", "STARTTLS\r\n", `${"NOOP\r\n".repeat(500)}${INJECTED}`],
  ["half a line of them", "STARTTLS\r\n", "MAIL FROM:<inj"],
  ["a partial line and a whole one", "STARTTLS\r\n", "RSET\r\nEHLO inj"],
])("commands sent in the clear behind STARTTLS are not run inside: %s", async (_, starttls, injected) => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  talk.write(`${starttls}${injected}`);
  expect(await talk.reply()).toStartWith("220");
  // Where bytes in the clear have come between, the handshake may fail: then nothing at all has run.
  const isSecured = await talk.secure().then(
    () => true,
    () => false,
  );
  if (isSecured) await expectNothingInside(desk, talk);
  expect(desk.messages).toEqual([]);
});

test("commands sent in the clear before the 220 has come are not run inside, however late they come", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  talk.write("STARTTLS\r\n");
  expect(await talk.reply()).toStartWith("220");
  // In place of a handshake.
  talk.write(INJECTED);
  await until("the end", () => talk.isClosed);
  expect(talk.heard).not.toMatch(/^[25]\d\d/m);
  expect(desk.messages).toEqual([]);
});

test("an envelope given in the clear is forgotten inside", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.envelope("postmaster");
  expect(await talk.say("STARTTLS")).toStartWith("220");
  await talk.secure();
  await expectNothingInside(desk, talk);
});

test("handshakes that fail or are broken off leave no place taken and no word in the log", async () => {
  await using desk = await startDesk();
  for (const bytes of ["", "\x16\x03\x01", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05aaaaa"]) {
    const talk = await desk.client();
    await talk.say("EHLO client.test");
    await talk.say("STARTTLS");
    talk.write(Buffer.from(bytes, "latin1"));
    await new Promise<void>((resolve) => setImmediate(resolve));
    talk.socket.destroy();
  }
  await until("the going of all", () => desk.inbound.clientCount === 0);
  expect([desk.events, desk.bugs]).toEqual([[], []]);
});
