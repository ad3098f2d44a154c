// The machine and the instance on it: clock, disk, memory, copies, and what /ready tells.

import { isIP } from "node:net";
import { askTime } from "../../../protocols/ntp/ask.ts";
import { bad, type Finding, ok, unknown } from "../finding.ts";
import type { World } from "../world.ts";

/** From here on TLS, DKIM dates and one-time codes begin to fail. */
const WRONG_MS = 30_000;
const ODD_MS = 5_000;
const NTP_MS = 3_000;
const DAY_MS = 86_400_000;
const FEW_DAYS = 30;
const LAST_DAYS = 7;
const MIN_MEMORY_BYTES = 480 * 1024 ** 2;
const DRILL_MS = 15 * DAY_MS;

export async function checkMachine(world: World): Promise<Finding[]> {
  return [
    ...(await checkClock(world)),
    checkMemory(world),
    ...checkHealth(world),
    ...checkDisk(world),
    ...checkBackup(world),
  ];
}

async function checkClock(world: World): Promise<Finding[]> {
  const id = "clock";
  const { timeServer } = world.config.doctor;
  if (timeServer === null) return [];
  const { host, port } = timeServer;
  const lookup = isIP(host) === 0 ? await world.dns.a(host) : null;
  const address = lookup === null ? host : lookup.kind === "found" ? lookup.records[0] : undefined;
  const step = "timedatectl shows whether the clock is kept right; systemctl enable --now systemd-timesyncd keeps it.";
  if (address === undefined)
    return [unknown(id, `The time could not be asked for: ${host} was not found in DNS.`, { step })];
  const answer = await askTime({
    server: { address, port },
    clock: world.clock,
    steady: world.steady,
    timeoutMs: NTP_MS,
    nonce: world.random.bytes(8),
    signal: world.signal,
  });
  if (answer.kind === "silent")
    return [unknown(id, `The time could not be asked for: ${host} ${answer.reason}.`, { step })];
  const { offsetMs } = answer;
  const seconds = (Math.abs(offsetMs) / 1_000).toFixed(1);
  if (Math.abs(offsetMs) < ODD_MS) return [ok(id, `The clock is right to ${seconds} s.`)];
  return [
    bad(id, Math.abs(offsetMs) >= WRONG_MS ? "problem" : "warning", {
      seen: `The clock is ${seconds} s ${offsetMs > 0 ? "behind" : "ahead"}: from 30 s on signatures, certificates and codes begin to be refused.`,
      step: "timedatectl set-ntp true\ntimedatectl timesync-status",
    }),
  ];
}

function checkMemory({ memoryBytes }: World): Finding {
  const id = "memory";
  const mib = Math.round(memoryBytes / 1024 ** 2);
  if (memoryBytes >= MIN_MEMORY_BYTES) return ok(id, `There are ${mib.toLocaleString("en")} MiB of memory for pombo.`);
  return bad(id, "warning", {
    seen: `There are ${mib} MiB of memory for pombo, which wants 512: large requests are refused.`,
    step: "Give the server more memory, or the service: systemctl edit pombo\n[Service]\nMemoryMax=512M",
  });
}

function checkHealth({ instance }: World): Finding[] {
  const id = "health";
  if (instance === null) return [];
  const issues = instance.issues();
  if (issues.length === 0) return [ok(id, "The instance itself finds nothing wrong (pombo status).")];
  return issues.map(({ component, about, reason, isAdvisory }) =>
    bad(id, isAdvisory === true ? "warning" : "problem", {
      subject: about === undefined ? component : `${component} ${about}`,
      seen: /[.!?]$/.test(reason) ? reason : `${reason}.`,
      step: "pombo status shows since when, and what waits for it.",
    }),
  );
}

function checkDisk({ instance }: World): Finding[] {
  const id = "disk";
  if (instance === null) return [];
  const { freeDiskBytes: free, diskDaysLeft: days } = instance;
  if (free === null) return [unknown(id, "The free space of the disk could not be read.")];
  const gib = (free / 1024 ** 3).toLocaleString("en", { maximumFractionDigits: 1 });
  if (days === null || days >= FEW_DAYS)
    return [
      ok(id, `${gib} GiB of the disk are free${days === null ? "" : `, for ${days} days at the present growth`}.`),
    ];
  return [
    bad(id, days < LAST_DAYS ? "problem" : "warning", {
      seen: `${gib} GiB of the disk are free, for ${days} days at the present growth; then sends are refused.`,
      step: 'Give the disk more room, or keep less. In the configuration, for example:\n[email]\ncontent_retention = "7d"\nattachment_retention = "1d"',
    }),
  ];
}

function checkBackup({ instance, clock }: World): Finding[] {
  const id = "backup";
  if (instance === null) return [];
  const { replication } = instance;
  if (replication === null)
    return [
      bad(id, "warning", {
        seen: "Nothing is copied elsewhere: a disk that breaks takes all with it.",
        step: 'In the configuration:\n[replication]\nurl = "s3://bucket/pombo"\nor take a copy yourself, each day: pombo backup FILE',
      }),
    ];
  const { state, reason, drill } = replication;
  const trouble = "pombo status says why; docs/backup-and-restore.md has what to do.";
  if (state !== "running")
    return [
      bad(id, "problem", {
        seen: `The copy elsewhere is not kept: ${state}${reason === null ? "" : ` (${reason})`}.`,
        step: trouble,
      }),
    ];
  const isProven = drill !== null && drill.goodAt !== null && clock.now() - drill.goodAt < DRILL_MS;
  if (!isProven)
    return [
      bad(id, "warning", {
        seen: "The copy elsewhere was not restored for a trial in the last 15 days: nobody knows whether it can be.",
        step: "pombo restore --drill",
      }),
    ];
  return [ok(id, "The copy elsewhere is kept, and was restored for a trial lately.")];
}
