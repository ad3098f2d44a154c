// One SMTP conversation of the sink: just what a sender that keeps to the rules needs, quickly.

import type { Socket } from "node:net";
import { TLSSocket, type SecureContext } from "node:tls";
import type { Answer } from "./corpus.ts";

const CAPABILITIES = ["sink.example.test", "PIPELINING", "SIZE 52428800", "8BITMIME", "ENHANCEDSTATUSCODES"];
const CONTENT_END = "\r\n.\r\n";

export interface SinkParts {
  secureContext: SecureContext;
  decide: (recipient: string) => Answer | null;
  note: (recipient: string, code: number) => void;
}

interface Transaction {
  recipient: string;
  /** For the dot; null accepts. */
  answer: Answer | null;
}

export function converse(socket: Socket, parts: SinkParts): void {
  socket.write("220 sink.example.test ESMTP\r\n");
  listen(socket, false, parts);
}

function listen(socket: Socket, isTls: boolean, parts: SinkParts): void {
  let pending = "";
  let transaction: Transaction | null = null;
  let isInContent = false;
  const say = (answer: string): void => void socket.write(`${answer}\r\n`);

  /** False: the connection is over or becomes another one. */
  const obey = (line: string): boolean => {
    const verb = line.slice(0, 4).toUpperCase();
    switch (verb) {
      case "EHLO":
        say(formatAnswer(250, isTls ? CAPABILITIES : [...CAPABILITIES, "STARTTLS"]));
        return true;
      case "STAR":
        say("220 2.0.0 Go ahead");
        upgrade(socket, parts);
        return false;
      case "RCPT": {
        const recipient = /<(.*?)>/.exec(line)?.[1]?.toLowerCase() ?? "";
        const answer = parts.decide(recipient);
        if (answer?.stage !== "rcpt") {
          transaction = { recipient, answer };
          say("250 2.1.5 Ok");
          return true;
        }
        parts.note(recipient, answer.code);
        say(formatAnswer(answer.code, answer.lines));
        // It ends the session, whatever else was sent in one go.
        if (answer.code === 421) socket.end();
        return answer.code !== 421;
      }
      case "DATA":
        isInContent = transaction !== null;
        say(isInContent ? "354 Go ahead" : "503 5.5.1 No recipient");
        return true;
      case "QUIT":
        socket.end("221 2.0.0 Bye\r\n");
        return false;
      default:
        transaction = null; // MAIL and RSET begin anew
        say("250 2.0.0 Ok");
        return true;
    }
  };
  const endContent = (): void => {
    isInContent = false;
    if (transaction === null) return;
    const { recipient, answer } = transaction;
    transaction = null;
    parts.note(recipient, answer?.code ?? 250);
    say(answer === null ? "250 2.0.0 Queued" : formatAnswer(answer.code, answer.lines));
  };

  const take = (chunk: Buffer): void => {
    pending += chunk.toString("latin1");
    for (;;) {
      const mark = isInContent ? CONTENT_END : "\r\n";
      const end = pending.indexOf(mark);
      if (end === -1) return;
      const line = pending.slice(0, end);
      pending = pending.slice(end + mark.length);
      if (isInContent) endContent();
      else if (!obey(line)) return void socket.removeListener("data", take);
    }
  };
  socket.on("data", take);
  socket.on("error", () => socket.destroy());
}

function upgrade(clear: Socket, parts: SinkParts): void {
  clear.removeAllListeners();
  clear.on("error", () => clear.destroy());
  const socket = new TLSSocket(clear, { isServer: true, secureContext: parts.secureContext });
  socket.once("secure", () => listen(socket, true, parts));
  socket.on("error", () => clear.destroy());
}

function formatAnswer(code: number, lines: string[]): string {
  return lines.map((line, index) => `${code}${index === lines.length - 1 ? " " : "-"}${line}`).join("\r\n");
}
