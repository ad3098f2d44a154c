import type { MxScript } from "./mx.ts";

export type MxStage =
  | "greeting"
  | "ehlo"
  | "helo"
  | "startTls"
  | "auth"
  | "mail"
  | "rcpt"
  | "data"
  | "content"
  | "dot"
  | "rset"
  | "quit";

/** By the command, up to its first colon or space. */
export const STAGES: Record<string, MxStage> = {
  EHLO: "ehlo",
  HELO: "helo",
  STARTTLS: "startTls",
  AUTH: "auth",
  "MAIL FROM": "mail",
  "RCPT TO": "rcpt",
  DATA: "data",
  RSET: "rset",
  QUIT: "quit",
};

/** What the well-behaved server offers. */
export const ALL_CAPABILITIES = ["PIPELINING", "SIZE 52428800", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"];

/** The answer of a server that keeps to RFC 5321 and accepts everything in the right order. */
export function usualAnswer(
  stage: MxStage,
  script: MxScript,
  state: { isTls: boolean; isSignedIn: boolean; hasSender: boolean; hasRecipient: boolean },
): string {
  const hasStartTls = !state.isTls && (script.tls ?? "none") !== "none";
  const offered = [
    "mx.example",
    ...(script.capabilities ?? ALL_CAPABILITIES),
    ...(hasStartTls ? ["STARTTLS"] : []),
    ...(script.accounts === undefined ? [] : [script.authOffer ?? "AUTH PLAIN LOGIN"]),
  ];
  const isLetIn = script.accounts === undefined || state.isSignedIn;
  const usual: Record<MxStage, string> = {
    greeting: "220 mx.example ESMTP",
    ehlo: offered.map((line, at) => `250${at === offered.length - 1 ? " " : "-"}${line}`).join("\n"),
    helo: "250 mx.example",
    startTls: hasStartTls ? "220 2.0.0 Ready" : "502 5.5.1 Not offered",
    // Where there are accounts, mx-auth.ts answers.
    auth: "502 5.5.1 Not offered",
    mail: isLetIn ? "250 2.1.0 Ok" : "530 5.7.0 Authentication required",
    rcpt: state.hasSender ? "250 2.1.5 Ok" : "503 5.5.1 MAIL first",
    data: state.hasRecipient ? "354 Go on" : "503 5.5.1 No recipients",
    content: "250 2.0.0 Ok",
    dot: "250 2.0.0 Queued",
    rset: "250 2.0.0 Ok",
    quit: "221 2.0.0 Bye",
  };
  return usual[stage];
}
