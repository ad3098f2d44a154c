// Kannel as a side of `script/bench sms`: bearerbox and smsbox in their fast case, its queue in files that are
// never fsynced and what receipts belong to in memory, asked over HTTP, telling of receipts over HTTP.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "../../test/support/peers/packages.ts";
import {
  type Cleanup,
  freePort,
  type Running,
  startProcess,
  waitForListener,
  waitUntil,
} from "../../test/support/peers/process.ts";
import type { DlrState } from "../sms-dlr.ts";
import { digitsOf, type NumberTimes } from "../sms-log.ts";
import { SMS_BODY } from "../sms-pombo.ts";
import { getJson, type LinkName, type Side, startBun, startSmsc, WINDOWS } from "../sms-side.ts";

export const KANNEL: Tool = { program: "bearerbox", package: "kannel" };

const BIND_LIMIT_MS = 30_000;
/** Both ends of a text's way, not the steps between: what costs it the least. */
const FINAL_RECEIPTS = 3;
const LINKS: LinkName[] = ["w50", "w10"];

interface Ports {
  smsc: number;
  admin: number;
  box: number;
  send: number;
  told: number;
}

export async function startKannelSide(folder: string, cleanup: Cleanup): Promise<Side> {
  const smsc = await startSmsc(folder, "kannel", cleanup);
  const root = join(folder, "kannel");
  mkdirSync(root);
  const [admin, box, send, told] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const ports: Ports = { smsc: smsc.port, admin, box, send, told };
  const configFile = join(root, "kannel.conf");
  writeFileSync(configFile, configOf(root, ports));
  startBun("sms-dlr.ts", [told], join(folder, "dlr.log"), cleanup);
  await waitForListener(told);
  const bound = () =>
    waitUntil("the links of Kannel", BIND_LIMIT_MS, async () => (await smsc.state()).bound.length === LINKS.length);
  const start = async () => {
    const bearerbox = startBox("bearerbox", root, cleanup);
    await waitForListener(ports.box);
    const smsbox = startBox("smsbox", root, cleanup);
    await waitForListener(ports.send);
    await bound();
    return [bearerbox, smsbox];
  };
  let boxes = await start();
  return {
    name: "Kannel",
    smsc,
    httpPort: ports.send,
    requestOf: (link) => requestOf(link, ports),
    pids: () => boxes.map(({ pid }) => pid),
    applied: async () => {
      const { distinct, lastAt } = await getJson<DlrState>(`http://127.0.0.1:${told}/state`);
      return { count: distinct, lastAt };
    },
    appliedTimes: () => getJson<NumberTimes>(`http://127.0.0.1:${told}/log`),
    async reported() {
      const { counts } = await getJson<NumberTimes>(`http://127.0.0.1:${told}/log`);
      return new Set(counts.flatMap((count, number) => (count > 0 ? [number] : [])));
    },
    marked: () => null,
    async killAndRestart() {
      for (const { pid } of boxes) process.kill(pid, "SIGKILL");
      await waitUntil("Kannel's end", BIND_LIMIT_MS, () => boxes.every((each) => !each.isAlive()));
      boxes = await start();
    },
  };
}

function startBox(program: "bearerbox" | "smsbox", root: string, cleanup: Cleanup): Running {
  const running = startProcess({
    // Errors alone: its log would cost it.
    command: [pathOf(program), "-v", "3", join(root, "kannel.conf")],
    logFile: join(root, `${program}.log`),
  });
  cleanup.add(() => running.stop());
  return running;
}

function configOf(root: string, { smsc, admin, box, send }: Ports): string {
  const groups: Record<string, string | number>[] = [
    {
      group: "core",
      "admin-port": admin,
      "admin-password": "a",
      "smsbox-port": box,
      "store-type": "file",
      "store-location": join(root, "store"),
      "dlr-storage": "internal",
      "box-allow-ip": "127.0.0.1",
      "log-level": 3,
    },
    ...LINKS.map((link) => ({
      group: "smsc",
      smsc: "smpp",
      "smsc-id": link,
      host: "127.0.0.1",
      port: smsc,
      "transceiver-mode": "true",
      "smsc-username": link,
      "smsc-password": "p",
      "system-type": "bench",
      "interface-version": 34,
      "max-pending-submits": WINDOWS[link],
    })),
    { group: "smsbox", "bearerbox-host": "127.0.0.1", "sendsms-port": send, "log-level": 3 },
    { group: "sendsms-user", username: "u", password: "p", "max-messages": 24, concatenation: "true" },
    { group: "sms-service", keyword: "default", text: "-" },
  ];
  return groups
    .map(
      (group) =>
        `${Object.entries(group)
          .map((pair) => pair.join(" = "))
          .join("\n")}\n`,
    )
    .join("\n");
}

function requestOf(link: LinkName, { send, told }: Ports): string {
  const isSilent = link === "silent";
  const query = new URLSearchParams({
    username: "u",
    password: "p",
    from: "Loja",
    to: `+25884${digitsOf(0)}`,
    text: SMS_BODY,
    smsc: isSilent ? "w50" : link,
    ...(isSilent
      ? {}
      : { "dlr-mask": `${FINAL_RECEIPTS}`, "dlr-url": `http://127.0.0.1:${told}/dlr?n=${digitsOf(0)}` }),
  });
  return `GET /cgi-bin/sendsms?${query.toString()} HTTP/1.1\r\nHost: 127.0.0.1:${send}\r\n\r\n`;
}
