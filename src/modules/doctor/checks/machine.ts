// The machine and the instance on it: clock, disk, memory, copies, and what /ready tells.

import { isIP } from "node:net";
import { isLoopback } from "../../../platform/ip/address.ts";
import { askTime } from "../../../protocols/ntp/ask.ts";
import { bad, type Finding, ok, unknown } from "../finding.ts";
import type { World } from "../world.ts";
import { checkUpdate } from "./update.ts";

/** From here on TLS, DKIM dates and one-time codes begin to fail. */
const WRONG_MS = 30_000;
const ODD_MS = 5_000;
const NTP_MS = 3_000;
const DAY_MS = 86_400_000;
const FEW_DAYS = 30;
const LAST_DAYS = 7;
const MIN_MEMORY_BYTES = 480 * 1024 ** 2;
const DRILL_MS = 15 * DAY_MS;
/** Beyond it a lost disk takes more than an hour's mail with it. */
const LAG_MS = 3_600_000;
/** Fewer say nothing. */
const MIN_COMMITS = 1_000;
const SLOW_COMMIT_MS = 100;
const VERY_SLOW_COMMIT_MS = 1_000;
/** Shares of the descriptors that are open. */
const MANY_OPEN = 0.7;
const ALMOST_ALL_OPEN = 0.9;
/** Each delivery, request and program that hands in mail takes one or two. */
const MIN_DESCRIPTORS = 4_096;

export async function checkMachine(world: World): Promise<Finding[]> {
  const [clock, update] = await Promise.all([checkClock(world), checkUpdate(world)]);
  return [
    ...clock,
    checkMemory(world),
    ...checkHealth(world),
    ...checkDisk(world),
    ...checkDiskSpeed(world),
    ...checkBackup(world),
    ...checkDescriptors(world),
    ...checkCertificate(world),
    ...update,
    ...checkRecoveryKey(world),
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
  const step =
    'Give the disk more room, or keep less. In the configuration, for example:\n[email]\ncontent_retention = "7d"\nattachment_retention = "1d"';
  // A disk may be full without growing.
  const shortage = instance.issues().find(({ component }) => component === "disk");
  if (shortage !== undefined) {
    const isOfFiles = shortage.reason.includes("inodes");
    const fewer =
      "Other programs keep too many small files on this disk: df -i shows it. Delete those that nobody needs.";
    const seen = shortage.reason.replace(/^the/, "The");
    return [bad(id, "problem", { seen, step: isOfFiles ? fewer : step })];
  }
  if (free === null) return [unknown(id, "The free space of the disk could not be read.")];
  const room = `${describeBytes(free)} of the disk are free`;
  if (days === null || days >= FEW_DAYS)
    return [ok(id, `${room}${days === null ? "" : `, for ${days} days at the present growth`}.`)];
  return [
    bad(id, days < LAST_DAYS ? "problem" : "warning", {
      seen: `${room}, for ${days} days at the present growth; then sends are refused.`,
      step,
    }),
  ];
}

function describeBytes(bytes: number): string {
  const gib = bytes / 1024 ** 3;
  return gib < 1
    ? `${Math.floor(bytes / 1024 ** 2)} MiB`
    : `${gib.toLocaleString("en", { maximumFractionDigits: 1 })} GiB`;
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
  const { state, reason, drill, lastAt } = replication;
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
  const lagMs = lastAt === null ? 0 : clock.now() - lastAt;
  const lag = lastAt === null ? "" : `, lately ${describeSpan(lagMs)} ago`;
  if (lagMs >= LAG_MS)
    return [
      bad(id, "warning", {
        seen: `The copy elsewhere is kept${lag}: what came since is lost with the disk.`,
        step: trouble,
      }),
    ];
  return [ok(id, `The copy elsewhere is kept${lag}, and was restored for a trial lately.`)];
}

function describeSpan(ms: number): string {
  if (ms < 120_000) return `${Math.max(0, Math.round(ms / 1_000))} s`;
  return ms < 2 * 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

/** Each request and each delivery waits for the disk to sync. */
function checkDiskSpeed({ instance }: World): Finding[] {
  const id = "disk_speed";
  if (instance === null) return [];
  const { count, p99Ms } = instance.commits;
  const number = count.toLocaleString("en");
  if (p99Ms === null || count < MIN_COMMITS)
    return [ok(id, `There were ${number} transactions since the start, too few to judge the disk by.`)];
  const time = Number.isFinite(p99Ms) ? `within ${p99Ms} ms` : "in more than 2.5 s";
  const seen = `Of ${number} transactions since the start, 99 in 100 were on the disk ${time}`;
  if (p99Ms <= SLOW_COMMIT_MS) return [ok(id, `${seen}.`)];
  return [
    bad(id, p99Ms > VERY_SLOW_COMMIT_MS ? "problem" : "warning", {
      seen: `${seen}: each request and each delivery waits for that.`,
      step: "iostat -x 5 (package sysstat) shows whether another program keeps the disk busy. A disk over the network, or of a hoster that slows it down, is to be changed for a local SSD.",
    }),
  ];
}

function checkDescriptors({ instance }: World): Finding[] {
  const id = "descriptors";
  if (instance === null) return [];
  if (instance.descriptors === null)
    return [unknown(id, "How many files and connections may be open is not known: this system does not say.")];
  const { open, limit } = instance.descriptors;
  const seen = `${open.toLocaleString("en")} of ${limit.toLocaleString("en")} files and connections are open`;
  const share = open / limit;
  if (share < MANY_OPEN && limit >= MIN_DESCRIPTORS) return [ok(id, `${seen}.`)];
  return [
    bad(id, share >= ALMOST_ALL_OPEN ? "problem" : "warning", {
      seen: `${seen}: ${share < MANY_OPEN ? "many deliveries at once need more" : "when none is left, connections are refused"}.`,
      step: "systemctl edit pombo\n[Service]\nLimitNOFILE=65536\nthen: systemctl restart pombo",
    }),
  ];
}

/** Who connects to these ports looks at it; mail servers do not, so that the port for bounces needs none. */
function checkCertificate({ instance, clock }: World): Finding[] {
  const id = "certificate";
  if (instance === null) return [];
  const { certificate, submission, tls } = instance;
  const ports = [...tls, ...submission].filter((address) => !isLoopback(splitPort(address)));
  if (ports.length === 0) return [ok(id, "No port needs a certificate that others trust.")];
  const where = ports.join(", ");
  if (certificate.isSelfMade || !certificate.isPublic)
    return [
      bad(id, "warning", {
        seen: `The certificate at ${where} is ${certificate.isSelfMade ? "self-made" : "of an authority that is not public"}: browsers and mail programs refuse it.`,
        step: 'In the configuration:\n[tls]\nacme = "letsencrypt"\nPort 80 must lead here; restart pombo, and pombo tls shows how it goes. If only programs that know your own authority connect, it is right as it is.',
      }),
    ];
  if (certificate.endsAt === null) return [unknown(id, "Until when the certificate holds could not be read.")];
  const days = Math.floor((certificate.endsAt - clock.now()) / DAY_MS);
  if (!certificate.isLate) return [ok(id, `The certificate at ${where} is trusted, and holds for ${days} days.`)];
  return [
    bad(id, certificate.endsAt <= clock.now() ? "problem" : "warning", {
      seen: `The certificate at ${where} ${days < 0 ? "has ended" : `ends in ${days} days`}, and no other has come.`,
      step: "pombo tls shows why; pombo tls renew orders another one. Your own files ([tls] certificate_file) you renew yourself.",
    }),
  ];
}

/** The database and each backup of it hold secrets that only this key opens. */
function checkRecoveryKey({ instance }: World): Finding[] {
  const id = "recovery_key";
  if (instance === null) return [];
  const { file, checkedAt } = instance.recoveryKey;
  if (checkedAt !== null) {
    const day = new Date(checkedAt).toISOString().slice(0, 10);
    return [ok(id, `Somebody had the recovery key at hand on ${day}.`)];
  }
  const check = "Paste it from where you keep it into: pombo recovery-key check";
  return [
    bad(id, "warning", {
      seen: "Nobody has confirmed yet that the recovery key is kept outside this machine. If the machine is lost, no backup can be used without it.",
      step:
        file === null
          ? check
          : `${check}\nIf you have not kept it: sudo cat ${file} shows it. Put it into a password manager, then check it from there.`,
    }),
  ];
}

/** The address of 127.0.0.1:8443. */
function splitPort(place: string): string {
  return place.replace(/:\d+$/, "").replaceAll(/[[\]]/g, "");
}
