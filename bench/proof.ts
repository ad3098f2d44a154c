// Proof that both sides really sign: a second smtp-sink on 127.0.0.3 (same port number as the
// counting one, since pombo has one destination port) keeps what it gets, and mailauth verifies the
// first message of each side before anything is measured. A peer that forgot to sign would look fast.

import { chmodSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../test/support/peers/packages.ts";
import { startProcess, waitUntil, type Cleanup } from "../test/support/peers/process.ts";
import { checkSignatures } from "../test/support/peers/zone.ts";
import type { Zone } from "../test/support/fakes/zone.ts";

export const PROOF_ADDRESS = "127.0.0.3";
const ARRIVAL_TIMEOUT_MS = 20_000;

export interface Proof {
  /** Waits for one message more than before and verifies it. @throws Error unless `algorithms` all pass. */
  expectSigned(algorithms: string[], zone: Zone): Promise<void>;
}

export function startProof(folder: string, port: number, cleanup: Cleanup): Proof {
  const dumps = join(folder, "proof");
  mkdirSync(dumps);
  chmodSync(dumps, 0o777); // smtp-sink writes as nobody
  const sink = startProcess({
    command: [pathOf("smtp-sink"), "-u", "nobody", "-R", dumps, "-d", "mail.", `${PROOF_ADDRESS}:${port}`, "16"],
    logFile: join(folder, "proof.log"),
  });
  cleanup.add(() => sink.stop());
  const seen = new Set<string>();

  return {
    expectSigned: async (algorithms, zone) => {
      let verdict = "no message came";
      const isProven = async (): Promise<boolean> => {
        const file = readdirSync(dumps).find((name) => !seen.has(name));
        if (!file) return false;
        const signatures = await checkSignatures(toMessage(readFileSync(join(dumps, file), "latin1")), zone);
        verdict = signatures.map((signature) => `${signature.algorithm} ${signature.result}`).join(", ") || "unsigned";
        const passed = signatures.filter((signature) => signature.result === "pass");
        const isComplete = algorithms.every((wanted) => passed.some((signature) => signature.algorithm === wanted));
        if (isComplete) seen.add(file);
        return isComplete;
      };
      try {
        await waitUntil("a signed message", ARRIVAL_TIMEOUT_MS, isProven);
      } catch (error) {
        throw new Error(`expected valid signatures (${algorithms.join(", ")}): ${verdict}`, { cause: error });
      }
    },
  };
}

/** smtp-sink keeps LF and puts its own X- lines and a Received field first; those are not signed. */
function toMessage(dump: string): Buffer {
  return Buffer.from(dump.replace(/\r?\n/g, "\r\n"), "latin1");
}
