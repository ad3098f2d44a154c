// A machine of its own for a service: a network namespace, with a cable to each of its clients that a test cuts. Packets
// are dropped by the kernel, as a network drops them: what was sent is sent again and arrives late, and nobody is told.

import { readlinkSync } from "node:fs";
import type { LineState } from "./line.ts";
import { waitUntil } from "./process.ts";

const LIMIT_MS = 5_000;
const HOLD_SECONDS = "3600";
/** Networks between two machines for measurements alone (RFC 2544). */
const NETWORK = "198.18";

export interface Cable {
  /** Of the service, as it is reached over this cable. */
  readonly address: string;
  set(state: LineState): void;
}

export interface Cables extends AsyncDisposable {
  /** The words that run a command on the service's machine. */
  readonly prefix: readonly string[];
  readonly cables: readonly Cable[];
}

/** @returns null: this machine permits no network of its own, or lacks what makes one */
export async function layCables(count: number): Promise<Cables | null> {
  if (!canLay()) return null;
  const own = readlinkSync("/proc/self/ns/net");
  const holder = Bun.spawn(["unshare", "-n", "sleep", HOLD_SECONDS], { stdout: "ignore", stderr: "ignore" });
  const prefix = ["nsenter", "-t", String(holder.pid), "-n"];
  const there = (...words: string[]) => must([...prefix, ...words]);
  await waitUntil("the service's namespace", LIMIT_MS, () => readlinkSync(`/proc/${holder.pid}/ns/net`) !== own);
  there("ip", "link", "set", "lo", "up");
  const cables = Array.from({ length: count }, (_, nth): Cable => {
    const [near, far] = [nameNear(nth), `cable${nth}`];
    // A network of four addresses for each cable; others of this machine may run such tests at the same time.
    const network = `${NETWORK}.${process.pid % 256}`;
    const [nearAddress, address] = [`${network}.${nth * 4 + 1}`, `${network}.${nth * 4 + 2}`];
    must(["ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", String(holder.pid)]);
    must(["ip", "addr", "add", `${nearAddress}/30`, "dev", near]);
    must(["ip", "link", "set", near, "up"]);
    there("ip", "addr", "add", `${address}/30`, "dev", far);
    there("ip", "link", "set", far, "up");
    const drop = (hook: string, packets: string) => {
      there("nft", `add chain ip ${far} ${hook} { type filter hook ${hook} priority 0 ; }`);
      there("nft", `add rule ip ${far} ${hook} ${packets} ${far} drop`);
    };
    return {
      address,
      set(state) {
        there("nft", `add table ip ${far}`);
        there("nft", `delete table ip ${far}`);
        if (state === "open") return;
        there("nft", `add table ip ${far}`);
        drop("output", "oifname");
        if (state === "cut") drop("input", "iifname");
      },
    };
  });
  return {
    prefix,
    cables,
    async [Symbol.asyncDispose]() {
      for (const nth of cables.keys()) must(["ip", "link", "delete", nameNear(nth)]);
      holder.kill("SIGKILL");
      await holder.exited;
    },
  };
}

function nameNear(nth: number): string {
  return `p${process.pid}n${nth}`;
}

function canLay(): boolean {
  const tried = (words: string[]) => {
    try {
      return Bun.spawnSync(words, { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).exitCode === 0;
    } catch {
      return false; // there is no such program
    }
  };
  // The veth is made in a namespace that is gone at once.
  return (
    tried(["unshare", "-n", "sh", "-c", "ip link add near0 type veth peer name far0 && nft add table ip far0"]) &&
    process.getuid?.() === 0
  );
}

function must(words: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(words, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr.toString()}`);
}
