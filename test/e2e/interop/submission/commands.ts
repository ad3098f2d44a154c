// The peers that are run from a shell: swaks and curl, which compose a message from their arguments as their users
// write it, with texts and names in UTF-8 as they are, and msmtp, which gets a message on its input.

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../../../support/peers/packages.ts";
import { mustRun, run, type Finished } from "../../../support/peers/process.ts";
import { addressesOf, SENDER, type Message, type Person } from "./messages.ts";
import type { Server } from "./peers.ts";

const COMPOSER = join(import.meta.dir, "senders/smtplib_send.py");

/** Writes what an argument cannot hold. @returns its path */
function fileMaker(folder: string, { key }: Message): (name: string, text: string) => string {
  return (name, text) => {
    const path = join(folder, `${key}-${name}`);
    writeFileSync(path, text);
    return path;
  };
}

function readMessages(file: string): Message[] {
  return JSON.parse(readFileSync(file, "utf8")) as Message[];
}

export async function submitBySwaks(messagesFile: string, server: Server, folder: string): Promise<Finished> {
  const secure = server.mode === "implicit" ? ["--tls-on-connect"] : ["--tls"];
  // swaks does not ask for a mechanism that is not offered, so that each is used once.
  const mechanism = server.mode === "implicit" ? "LOGIN" : "PLAIN";
  const common = [
    ...["--server", server.host, "--port", String(server.port), ...secure, "--tls-verify"],
    ...["--tls-ca-path", server.caFile, "--auth", mechanism],
    ...["--auth-user", server.username, "--auth-password", server.password, "--from", SENDER],
  ];
  return await eachMessage(readMessages(messagesFile), (message) => {
    const file = fileMaker(folder, message);
    const text = `@${file("text", message.text)}`;
    const parts = [
      ...(message.html === null ? [] : ["--attach-type", "text/html; charset=utf-8"]),
      ...(message.html === null ? [] : ["--attach-body", `@${file("html", message.html)}`]),
      ...message.attachments.flatMap(({ filename, contentType, path }) => [
        ...["--attach-type", contentType, "--attach-name", filename, "--attach", `@${path}`],
      ]),
    ];
    const body = parts.length === 0 ? ["--body", text] : ["--attach-type", "text/plain; charset=utf-8"];
    const plain = parts.length === 0 ? ["--add-header", "MIME-Version: 1.0"] : ["--attach-body", text];
    const kind = parts.length === 0 ? ["--add-header", "Content-Type: text/plain; charset=utf-8"] : [];
    const fields = headerFields(message).flatMap((field) => ["--header", field]);
    const to = ["--to", addressesOf(message).join(",")];
    return run([pathOf("swaks"), ...common, ...to, ...fields, ...body, ...plain, ...kind, ...parts]);
  });
}

export async function submitByCurl(messagesFile: string, server: Server, folder: string): Promise<Finished> {
  const url = `${server.mode === "implicit" ? "smtps" : "smtp"}://${server.host}:${server.port}/loja.carta.test`;
  const common = [
    ...["curl", "--silent", "--show-error", "--verbose", "--url", url, "--ssl-reqd", "--cacert", server.caFile],
    ...["--user", `${server.username}:${server.password}`, "--mail-from", SENDER],
  ];
  return await eachMessage(readMessages(messagesFile), (message) => {
    const file = fileMaker(folder, message);
    const text = `=<${file("text", message.text)};type=text/plain;charset=utf-8;encoder=quoted-printable`;
    const html = `=<${file("html", message.html ?? "")};type=text/html;charset=utf-8;encoder=8bit`;
    const parts = message.html === null ? [text] : ["=(;type=multipart/alternative", text, html, "=)"];
    const files = message.attachments.map(
      ({ filename, contentType, path }) => `=@${path};type=${contentType};filename="${filename}";encoder=base64`,
    );
    const fields = headerFields(message).flatMap((field) => ["-H", field]);
    const to = addressesOf(message).flatMap((address) => ["--mail-rcpt", address]);
    return run([...common, ...to, ...fields, ...[...parts, ...files].flatMap((part) => ["-F", part])]);
  });
}

/** Its messages have their bodies 8 bits wide. */
export async function submitByMsmtp(messagesFile: string, server: Server, folder: string): Promise<Finished> {
  const written = await writeRaw(messagesFile, folder);
  const config = join(folder, `msmtprc-${server.mode}`);
  const lines = [
    ...["account default", `host ${server.host}`, `port ${server.port}`, "tls on", `from ${SENDER}`],
    ...[`tls_starttls ${server.mode === "starttls" ? "on" : "off"}`, `tls_trust_file ${server.caFile}`],
    ...["auth on", `user ${server.username}`, `password "${server.password}"`],
  ];
  writeFileSync(config, `${lines.join("\n")}\n`, { mode: 0o600 });
  return await eachMessage(readMessages(messagesFile), ({ key }) =>
    runWithInput([pathOf("msmtp"), "-C", config, "-t"], join(written, `${key}.eml`)),
  );
}

/** Writes each message as Python's email composes it, 8 bits wide, with line ends of this system. @returns their folder */
export async function writeRaw(messagesFile: string, folder: string): Promise<string> {
  const written = mkdtempSync(join(folder, "raw-"));
  await mustRun([pathOf("python3"), COMPOSER, messagesFile, "--write", written]);
  return written;
}

export function runWithInput(command: string[], file: string): Promise<Finished> {
  return run(["sh", "-c", 'exec "$@" < "$INPUT"', "sh", ...command], { INPUT: file });
}

async function eachMessage(messages: Message[], send: (message: Message) => Promise<Finished>): Promise<Finished> {
  let output = "";
  for (const message of messages) {
    const finished = await send(message);
    output += finished.output;
    if (finished.exitCode !== 0) return { exitCode: finished.exitCode, output };
    output += `sent ${message.key}\n`;
  }
  return { exitCode: 0, output };
}

/** Blind copies are in the envelope only. */
function headerFields({ key, from, to, cc, subject }: Message): string[] {
  return [
    `From: ${listed([from])}`,
    `To: ${listed(to)}`,
    ...(cc.length === 0 ? [] : [`Cc: ${listed(cc)}`]),
    `Subject: ${subject}`,
    `X-Sample: ${key}`,
  ];
}

function listed(people: Person[]): string {
  return people.map(({ name, address }) => (name === "" ? address : `"${name}" <${address}>`)).join(", ");
}
