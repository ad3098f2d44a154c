// The doctor in a world of real servers, which is on a machine of its own out of namespaces: this part brings what the
// world needs from outside, starts it, and counts its lines.

import { join } from "node:path";
import { BIND } from "../../../support/peers/bind.ts";
import { FAKETIME, findChrony } from "../../../support/peers/chrony.ts";
import { findExim } from "../../../support/peers/exim.ts";
import { POSTFIX, type Tool } from "../../../support/peers/packages.ts";
import type { Cleanup } from "../../../support/peers/process.ts";
import { RBLDNSD } from "../../../support/peers/rbldnsd.ts";
import { DANTE, MICROSOCKS } from "../../../support/peers/socks5.ts";
import { STRACE } from "../../../support/peers/slow-disk.ts";
import { UNBOUND } from "../../../support/peers/unbound.ts";
import type { Checks } from "../checks.ts";
import type { Order } from "./kit.ts";

export const DOCTOR_TOOLS: Tool[] = [
  POSTFIX,
  ...BIND,
  UNBOUND,
  RBLDNSD,
  FAKETIME,
  DANTE,
  MICROSOCKS,
  STRACE,
  { program: "ip", package: "iproute2" },
  { program: "nft", package: "nftables" },
];

const TOOLS = join(import.meta.dir, "../../../../.tools");
/** A network and mounts of its own, so that port 53 and 25 are free there. */
const NAMESPACE = ["unshare", "-n", "-m"];

/** `isSmoke`: one case of each part. */
export async function checkDoctor(options: { checks: Checks; cleanup: Cleanup; isSmoke: boolean }): Promise<void> {
  const { checks, cleanup, isSmoke } = options;
  const tried = Bun.spawnSync([...NAMESPACE, "ip", "link", "add", "world0", "type", "veth", "peer", "name", "cable"]);
  if (tried.exitCode !== 0) {
    console.log(`NOT RUN doctor: no network of its own on this machine: ${tried.stderr.toString().trim()}`);
    return;
  }
  const chrony = await findChrony(TOOLS);
  const exim = isSmoke ? null : await findExim(TOOLS);
  const order: Order = {
    isSmoke,
    chrony: "program" in chrony ? chrony.program : null,
    exim: exim !== null && "program" in exim ? exim.program : null,
  };
  if (exim !== null && "reason" in exim) console.log(`NOT RUN doctor, address behind NAT: no Exim: ${exim.reason}`);
  if ("reason" in chrony) console.log(`NOT RUN doctor, clock: no chronyd: ${chrony.reason}`);
  const command = [...NAMESPACE, process.execPath, join(import.meta.dir, "inside.ts"), JSON.stringify(order)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  cleanup.add(async () => {
    child.kill("SIGTERM");
    await child.exited;
  });
  let rest = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) count(line, checks);
  }
  const exitCode = await child.exited;
  checks.claim("doctor: the world came to its end", exitCode === 0, () => `exit code ${exitCode}`);
}

/** Its lines become ours; its own sum is left out. */
function count(line: string, checks: Checks): void {
  const [, word, name = ""] = /^(ok|FAILED) +(.*)$/.exec(line) ?? [];
  if (word !== undefined) {
    const [what = "", ...detail] = name.split(" ⇒ ");
    checks.claim(what, word === "ok", () => detail.join(" ⇒ "));
  } else console.log(line);
}
