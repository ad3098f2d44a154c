// Kannel, an SMPP client that is not ours: a bearerbox bound to an SMSC, a smsbox that takes texts over HTTP, and
// a web server of ours that it tells of receipts and of texts from subscribers.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { freePort, startProcess, waitForListener, waitUntil, type Cleanup } from "./process.ts";

export const KANNEL: Tool = { program: "bearerbox", package: "kannel" };

const CALL_TIMEOUT_MS = 20_000;
/** Kinds of reports (dlr-mask): delivered, failed, buffered, taken and refused by the SMSC. */
const ALL_REPORTS = 31;
const ENQUIRE_S = 1;

export interface KannelText {
  from: string;
  /** With `+`, international. */
  to: string;
  text: string;
  isUcs2: boolean;
}

export interface Report {
  to: string;
  /** One bit of the dlr-mask. */
  kind: number;
  /** The SMSC's words. */
  reply: string;
}

export interface Received {
  from: string;
  to: string;
  text: string;
}

export interface Kannel {
  /** Sends one text, in as many parts as it needs. @throws Error unless Kannel takes it. */
  send(text: KannelText): Promise<void>;
  reports(): Report[];
  received(): Received[];
  /** Resolves once `isTrue` holds of what it has told. */
  until(what: string, isTrue: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Bound to the SMSC as `kannel`, whose ids are hexadecimal in its answers, and decimal in its receipts. */
export async function startKannel(options: { folder: string; smscPort: number; cleanup: Cleanup }): Promise<Kannel> {
  const folder = join(options.folder, "kannel");
  mkdirSync(folder);
  const [reports, received]: [Report[], Received[]] = [[], []];
  const listener = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, searchParams: told, search } = new URL(request.url);
      const said = (name: string) => told.get(name) ?? "";
      if (pathname === "/report") reports.push({ to: said("to"), kind: Number(said("kind")), reply: said("reply") });
      else received.push({ from: said("from"), to: said("to"), text: textIn(search, said("coding")) });
      return new Response("");
    },
  });
  options.cleanup.add(() => listener.stop(true));
  const [admin, box, http] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${listener.port}`;
  const file = join(folder, "kannel.conf");
  writeFileSync(file, configuration({ admin, box, http, smsc: options.smscPort, folder, url }));
  const cleanup = options.cleanup.part();
  for (const [program, port] of [["bearerbox", box] as const, ["smsbox", http] as const]) {
    const running = startProcess({ command: [pathOf(program), file], logFile: join(folder, `${program}.log`) });
    cleanup.add(() => running.stop());
    try {
      await waitForListener(port);
    } catch (error) {
      throw new Error(`${program} does not start: ${running.output().slice(-2000)}`, { cause: error });
    }
  }
  return {
    send: (text) => send(`http://127.0.0.1:${http}`, url, text),
    reports: () => reports,
    received: () => received,
    until: (what, isTrue) => waitUntil(what, CALL_TIMEOUT_MS, isTrue),
    stop: () => cleanup.close(),
  };
}

/** Kannel hands on the bytes: UTF-16 of a text of data coding 8, UTF-8 of the others. */
function textIn(search: string, coding: string): string {
  const escaped = /[?&]text=([^&]*)/.exec(search)?.[1] ?? "";
  const bytes = escaped.replaceAll("+", " ").replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => {
    return String.fromCharCode(Number.parseInt(hex, 16));
  });
  const buffer = Buffer.from(bytes, "latin1");
  return coding === "2" ? buffer.swap16().toString("utf16le") : buffer.toString("utf8");
}

async function send(smsbox: string, listener: string, { from, to, text, isUcs2 }: KannelText): Promise<void> {
  const query = new URLSearchParams({
    username: "u",
    password: "p",
    from,
    to,
    text,
    charset: "UTF-8",
    coding: isUcs2 ? "2" : "0",
    "dlr-mask": String(ALL_REPORTS),
    "dlr-url": `${listener}/report?to=%p&kind=%d&reply=%A`,
  });
  const answer = await fetch(`${smsbox}/cgi-bin/sendsms?${query.toString()}`);
  if (answer.status !== 202) throw new Error(`Kannel: ${answer.status} ${await answer.text()}`);
}

function configuration(given: {
  admin: number;
  box: number;
  http: number;
  smsc: number;
  folder: string;
  url: string;
}): string {
  const groups: Record<string, string | number | boolean>[] = [
    {
      group: "core",
      "admin-port": given.admin,
      "admin-password": "a",
      "smsbox-port": given.box,
      "store-type": "file",
      "store-location": join(given.folder, "store"),
      "dlr-storage": "internal",
      "box-allow-ip": "127.0.0.1",
    },
    {
      group: "smsc",
      smsc: "smpp",
      "smsc-id": "sim",
      host: "127.0.0.1",
      port: given.smsc,
      "transceiver-mode": true,
      "smsc-username": "kannel",
      "smsc-password": "p",
      "system-type": "",
      "interface-version": 34,
      "enquire-link-interval": ENQUIRE_S,
      // Bit 1: hexadecimal in answers; receipts stay decimal.
      "msg-id-type": "0x01",
    },
    { group: "smsbox", "bearerbox-host": "127.0.0.1", "sendsms-port": given.http },
    { group: "sendsms-user", username: "u", password: "p", "max-messages": 24, concatenation: true },
    {
      group: "sms-service",
      keyword: "default",
      "get-url": `${given.url}/received?from=%p&to=%P&coding=%c&text=%b`,
      "max-messages": 0,
    },
  ];
  const lines = groups.map((group) => Object.entries(group).map(([key, value]) => `${key} = ${String(value)}\n`));
  return lines.map((group) => group.join("")).join("\n");
}
