// Two machines out of namespaces: this process is on the one that pombo runs on, 203.0.113.7; the world is behind its
// cable. Nothing of it is seen outside, and all is gone with the processes.

import { mustRun, startProcess, waitUntil, type Cleanup } from "../../../support/peers/process.ts";
import { mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const SELF = "203.0.113.7";
const GATEWAY = "203.0.113.1";
const CABLE = "world0";
/** Addresses of the world, each with what is there. */
export const PLACES = {
  names: "192.0.2.53",
  lists: "192.0.2.60",
  /** Nobody listens there. */
  nobody: "192.0.2.66",
  /** Of domains, by RDAP. */
  registry: "192.0.2.43",
  time: "192.0.2.123",
  otherTime: "192.0.2.124",
  mx: "198.51.100.25",
  closedMx: "198.51.100.26",
  refusingMx: "198.51.100.27",
  tellingMx: "198.51.100.28",
} as const;
/** What pombo is told to take for public. */
export const WORLD_RANGES = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"];

export interface Network {
  /** The words that run a command in the world. */
  world: readonly string[];
}

export async function buildNetwork(folder: string, cleanup: Cleanup): Promise<Network> {
  const own = readlinkSync("/proc/self/ns/net");
  const holder = startProcess({ command: ["unshare", "-n", "sleep", "infinity"], logFile: join(folder, "world.log") });
  cleanup.add(() => holder.stop());
  await waitUntil("the world's namespace", 5_000, () => readlinkSync(`/proc/${holder.pid}/ns/net`) !== own);
  const world = ["nsenter", "-t", String(holder.pid), "-n"];
  const ip = (line: string) => mustRun(["ip", ...line.split(" ")]);
  const worldIp = (line: string) => mustRun([...world, "ip", ...line.split(" ")]);
  await ip(`link add ${CABLE} type veth peer name cable netns ${holder.pid}`);
  await worldIp("link set lo up");
  await worldIp(`addr add ${GATEWAY}/24 dev cable`);
  await worldIp("link set cable up");
  for (const address of Object.values(PLACES)) await worldIp(`addr add ${address}/32 dev lo`);
  await ip("link set lo up");
  await ip(`addr add ${SELF}/24 dev ${CABLE}`);
  await ip(`link set ${CABLE} up`);
  await setDefaultRoute(true);
  return { world };
}

/** What programs of this machine ask that have no DNS of their own, such as fetch; in this mount namespace only. */
export async function setSystemResolver(folder: string, address: string): Promise<void> {
  const file = join(folder, "resolv.conf");
  writeFileSync(file, `nameserver ${address}\n`);
  await mustRun(["mount", "--bind", file, "/etc/resolv.conf"]);
}

/** A file system of its own, so large that it can be filled, and made larger. */
export async function mountDisk(folder: string, mebibytes: number, cleanup: Cleanup): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await mustRun(["mount", "-t", "tmpfs", "-o", `size=${mebibytes}m,mode=700`, "tmpfs", folder]);
  cleanup.add(() => mustRun(["umount", "-l", folder]));
}

export async function resizeDisk(folder: string, mebibytes: number): Promise<void> {
  await mustRun(["mount", "-o", `remount,size=${mebibytes}m`, folder]);
}

export async function setDefaultRoute(isThere: boolean): Promise<void> {
  await mustRun(["ip", "route", isThere ? "replace" : "del", "default", "via", GATEWAY]);
}

/** What a hoster does to outgoing mail of new customers: port 25 leads nowhere, or is refused. */
export async function setPort25(isOpen: boolean, otherwise: "drop" | "reject" = "drop"): Promise<void> {
  if (isOpen) return void (await mustRun(["nft", "delete", "table", "ip", "hoster"]));
  for (const line of [
    "add table ip hoster",
    "add chain ip hoster out { type filter hook output priority 0 ; }",
    `add rule ip hoster out oifname world0 tcp dport 25 ${otherwise}`,
  ])
    await mustRun(["nft", line]);
}

/** A router that others see in place of this address of ours. */
export async function setNat(inner: string, isThere: boolean): Promise<void> {
  if (!isThere) return void (await mustRun(["nft", "delete", "table", "ip", "router"]));
  for (const line of [
    "add table ip router",
    "add chain ip router out { type nat hook postrouting priority srcnat ; }",
    `add rule ip router out oifname world0 ip saddr ${inner} snat to ${SELF}`,
  ])
    await mustRun(["nft", line]);
}

/** A firewall that lets no TCP to this DNS server through. */
export async function setTcpToDns(address: string, isOpen: boolean): Promise<void> {
  if (isOpen) return void (await mustRun(["nft", "delete", "table", "ip", "firewall"]));
  for (const line of [
    "add table ip firewall",
    "add chain ip firewall out { type filter hook output priority 0 ; }",
    `add rule ip firewall out ip daddr ${address} tcp dport 53 reject with tcp reset`,
  ])
    await mustRun(["nft", line]);
}

/** A firewall of this machine before its own port 25. */
export async function setPortIn(isOpen: boolean): Promise<void> {
  if (isOpen) return void (await mustRun(["nft", "delete", "table", "ip", "inward"]));
  for (const line of [
    "add table ip inward",
    "add chain ip inward in { type filter hook input priority 0 ; }",
    "add rule ip inward in iif lo tcp dport 25 reject with tcp reset",
  ])
    await mustRun(["nft", line]);
}
