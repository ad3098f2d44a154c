// Where messages that came by SMTP are read: small ones here, large ones and those that are looked at on a thread.

import { expect, test } from "bun:test";
import { packBody } from "../../../../../src/modules/emails/content/body.ts";
import { packMimeBody, toStoredBody } from "../../../../../src/modules/emails/content/mime-body.ts";
import { createSubmissionReader } from "../../../../../src/modules/emails/submitted/read-thread.ts";
import {
  type GivenSubmission,
  readSubmitted,
  type ReadSubmission,
} from "../../../../../src/modules/emails/submitted/read-submitted.ts";
import { createContentReader, readShown } from "../../../../../src/modules/emails/submitted/show.ts";
import { message } from "../../../../support/submission/wire.ts";

const octets = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

function requireRead(submitted: Uint8Array[]): ReadSubmission {
  const read = readSubmitted({ submitted });
  if (read.kind === "fault") throw new Error(read.message);
  return read;
}

test("up to 64 KiB a message is read here, and a larger one on the thread, in however many pieces it comes", async () => {
  const given: GivenSubmission[] = [];
  const read = createSubmissionReader({
    call: (submission) => {
      given.push(submission);
      return Promise.resolve(readSubmitted(submission));
    },
  });
  const fill = (bytes: number) => `${message().padEnd(bytes - 2, "y".repeat(76).concat("\r\n"))}\r\n`;
  const small = fill(64 * 1024);
  expect((await read([octets(small.slice(0, 10)), octets(small.slice(10))])).kind).toBe("read");
  expect(given).toEqual([]);
  expect((await read([octets(fill(64 * 1024 + 1))])).kind).toBe("read");
  expect(given).toHaveLength(1);
});

test("pieces are one message, whose hash knows nothing of them", () => {
  const whole = message({ Subject: "=?utf-8?q?Ol=C3=A1?=" });
  const inPieces = requireRead([octets(whole.slice(0, 7)), octets(whole.slice(7, 8)), octets(whole.slice(8))]);
  const inOne = requireRead([octets(whole)]);
  expect(Buffer.from(inPieces.sha256).toString("hex")).toBe(Buffer.from(inOne.sha256).toString("hex"));
  expect([inPieces.subject, inPieces.header]).toEqual(["Olá", inOne.header]);
});

test("fields that name blind copies, or that are the service's, are not kept; those of members are taken", () => {
  const { header, taken, sender } = requireRead([
    octets(
      message({
        ...{ Bcc: "a@b.test", "RESENT-BCC": "a@b.test", "Return-Path": "<>", "feedback-id": "x", "X-Pombo-Other": "1" },
        ...{
          "Authentication-Results": "x",
          "X-Pombo-Tag": "receipt",
          "X-PM-Metadata-a": "1",
          Sender: "robo@loja.test",
        },
        ...{ "X-Pomboso": "stays", Constructor: "stays", "List-Id": "stays" },
      }),
    ),
  ]);
  const names = header.split("\r\n").map((line) => line.split(":")[0]);
  expect(names.slice(0, -1)).toEqual([
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "X-Pomboso",
    "Constructor",
    "List-Id",
  ]);
  expect(taken.map(({ name }) => name)).toEqual(["X-Pombo-Tag", "X-PM-Metadata-a"]);
  expect(sender).toEqual({ domain: "loja.test", field: "Sender: robo@loja.test\r\n" });
});

const REST = { attachedBytes: 0, hasDate: true, hasMessageId: true, needsSmtpUtf8: false, hasEightBit: false };

const stored = (header: string, body: string, holes: number[] = []) =>
  toStoredBody(header, packMimeBody(octets(body)), { holes, ...REST });

test("html and text are what was sent, and nothing is made of one for the other", async () => {
  const plain = stored("Content-Type: text/plain; charset=iso-8859-1\r\n", "Ol\xe1\r\n");
  expect(await readShown({ shown: plain })).toEqual({ html: null, text: "Olá\n" });
  const html = stored("Content-Type: text/html\r\n", "<p>a</p>");
  expect(await readShown({ shown: html })).toEqual({ html: "<p>a</p>", text: null });
  const empty = stored("Content-Type: text/plain\r\n", "");
  expect(await readShown({ shown: empty })).toEqual({ html: null, text: null });
  const none = stored("Content-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n", "", [0]);
  expect(await readShown({ shown: none })).toEqual({ html: null, text: null });
});

test("an email by the API is read here; one whose thread ended shows nothing, and the log says so", async () => {
  const events: string[] = [];
  const log = { event: (name: string) => void events.push(name), error: () => undefined };
  const read = createContentReader({ call: () => Promise.reject(new Error("gone")) }, log);
  const api = { ...packBody({ html: null, text: "ab" }), mime: null };
  expect(await read(api)).toEqual({ html: null, text: "ab" });
  expect(await read(stored("Content-Type: text/plain\r\n", "ab"))).toEqual({ html: null, text: null });
  expect(events).toEqual(["email.unreadable"]);
});
