// The world broken for one finding at a time: the machine, and the instance on it.

import { makeReleaseKey } from "../../fakes/release-key.ts";
import { NOW, signRelease } from "../world.ts";
import { type Case, DAY_MS, instance, well } from "./kit.ts";

export const INSTANCE_CASES = {
  clock: [
    well("right", /right to 0\.\d s/),
    {
      name: "behind",
      level: "problem",
      arrange: (world) => void (world.timeOffsetMs = 40_000),
      seen: /40\.0 s behind/,
    },
    {
      name: "a little ahead",
      level: "warning",
      arrange: (world) => void (world.timeOffsetMs = -6_000),
      seen: /6\.0 s ahead/,
    },
    {
      name: "nobody says the time",
      level: "unknown",
      arrange: (world) => void (world.timeOffsetMs = null),
      seen: /did not answer within/,
    },
  ],
  memory: [
    well("enough", /1,024 MiB/),
    {
      name: "little",
      level: "warning",
      arrange: (world) => void (world.memoryBytes = 256 * 1024 ** 2),
      seen: /256 MiB/,
    },
  ],
  health: [
    well("nothing", /finds nothing wrong/),
    {
      name: "an issue",
      level: "problem",
      arrange: instance({ issues: () => [{ component: "dns", reason: "No DNS server answers", since: NOW }] }),
      seen: /^No DNS server answers\.$/,
    },
    {
      name: "one with which it goes on",
      level: "warning",
      arrange: instance({
        issues: () => [{ component: "tls", reason: "It ends soon.", since: NOW, isAdvisory: true }],
      }),
      seen: /It ends soon/,
    },
  ],
  disk: [
    well("enough", /50 GiB of the disk are free, for 400 days/),
    { name: "for a month", level: "warning", arrange: instance({ diskDaysLeft: 20 }), seen: /for 20 days/ },
    { name: "for a week", level: "problem", arrange: instance({ diskDaysLeft: 3 }), seen: /for 3 days/ },
    {
      name: "little, which lasts for long",
      level: "ok",
      arrange: instance({ freeDiskBytes: 900 * 1024 ** 2 }),
      seen: /^900 MiB of the disk are free, for 400 days/,
    },
    {
      name: "less than sends need, though it does not grow",
      level: "problem",
      arrange: instance({
        freeDiskBytes: 8 * 1024 ** 2,
        diskDaysLeft: null,
        issues: () => [{ component: "disk", reason: "the disk has 8 MiB free, less than [disk] min_free", since: NOW }],
      }),
      seen: /^The disk has 8 MiB free, less than/,
      step: /Give the disk more room/,
    },
    {
      name: "too many files",
      level: "problem",
      arrange: instance({
        issues: () => [
          {
            component: "disk",
            reason: "the disk has 2.0 % of its inodes free, less than [disk] min_free_inodes_percent",
            since: NOW,
          },
        ],
      }),
      seen: /inodes/,
      step: /df -i shows it/,
    },
    { name: "not known", level: "unknown", arrange: instance({ freeDiskBytes: null }), seen: /could not be read/ },
  ],
  backup: [
    well("kept and proven", /restored for a trial lately/),
    { name: "none", level: "warning", arrange: instance({ replication: null }), seen: /Nothing is copied/ },
    {
      name: "stopped",
      level: "problem",
      arrange: instance({
        replication: { state: "not running", reason: "the bucket refuses", lastAt: null, drill: null },
      }),
      seen: /not kept: not running \(the bucket refuses\)/,
    },
    {
      name: "hours behind",
      level: "warning",
      arrange: instance({
        replication: {
          state: "running",
          reason: null,
          lastAt: NOW - 3 * 3_600_000,
          drill: { at: NOW, outcome: "good", words: "", goodAt: NOW },
        },
      }),
      seen: /lately 3 h ago/,
    },
    {
      name: "never tried",
      level: "warning",
      arrange: instance({ replication: { state: "running", reason: null, lastAt: NOW, drill: null } }),
      seen: /not restored for a trial/,
    },
  ],
  disk_speed: [
    well("quick", /99 in 100 were on the disk within 25 ms/),
    {
      name: "slow",
      level: "warning",
      arrange: instance({ commits: { count: 5_000, p99Ms: 250 } }),
      seen: /within 250 ms/,
    },
    {
      name: "beyond all bounds",
      level: "problem",
      arrange: instance({ commits: { count: 5_000, p99Ms: Infinity } }),
      seen: /in more than 2\.5 s/,
    },
    {
      name: "a few say nothing",
      level: "ok",
      arrange: instance({ commits: { count: 9, p99Ms: 1_000 } }),
      seen: /too few/,
    },
  ],
  update: [
    well("the newest", /pombo 0\.2\.0 runs, the newest/),
    {
      name: "a newer one",
      level: "warning",
      arrange: ({ release }) => void (release.body = signRelease("0.10.0")),
      seen: /pombo 0\.2\.0 runs, and release 0\.10\.0 is available/,
      step: /^sudo pombo update https:\/\/releases\.example\/pombo\/latest\/pombo-linux-x64$/,
    },
    {
      name: "an older one",
      level: "ok",
      arrange: ({ release }) => void (release.body = signRelease("0.1.9")),
      seen: /the newest/,
    },
    {
      name: "one signed with another key",
      level: "unknown",
      arrange: ({ release }) => void (release.body = signRelease("9.0.0", makeReleaseKey())),
      seen: /is not signed with the key/,
    },
    {
      name: "one whose version was changed",
      level: "unknown",
      arrange: ({ release }) => void (release.body = signRelease("0.2.0").replace("0.2.0", "9.0.0")),
      seen: /is not signed with the key/,
    },
    {
      name: "an address that has none",
      level: "unknown",
      arrange: ({ release }) => void (release.status = 404),
      seen: /answered 404/,
    },
    {
      name: "built without the key of releases",
      level: "unknown",
      arrange: ({ build }) => void (build.releaseKey = null),
      seen: /built without the key of releases/,
    },
    {
      name: "not asked for",
      level: "ok",
      arrange: ({ config }) => void (config.doctor.releases = null),
      seen: /does not look for newer releases: \[doctor\] releases/,
    },
    {
      name: "replaced without a restart",
      level: "warning",
      arrange: instance({ isReplaced: true }),
      seen: /its file on the disk was replaced/,
      step: /^systemctl restart pombo/,
    },
  ],
  recovery_key: [
    well("checked", /at hand on 2026-11-27/),
    {
      name: "never checked",
      level: "warning",
      arrange: instance({ recoveryKey: { checkedAt: null, file: "/var/lib/pombo/instance.key" } }),
      seen: /Nobody has confirmed yet/,
      step: /pombo recovery-key check\nIf you have not kept it: sudo cat \/var\/lib\/pombo\/instance\.key/,
    },
    {
      name: "from the environment",
      level: "warning",
      arrange: instance({ recoveryKey: { checkedAt: null, file: null } }),
      seen: /Nobody has confirmed yet/,
      step: /pombo recovery-key check$/,
    },
  ],
  descriptors: [
    well("enough", /120 of 65,536/),
    {
      name: "many open",
      level: "warning",
      arrange: instance({ descriptors: { open: 3_000, limit: 4_096 } }),
      seen: /3,000/,
    },
    {
      name: "hardly any left",
      level: "problem",
      arrange: instance({ descriptors: { open: 4_000, limit: 4_096 } }),
      seen: /4,000/,
    },
    {
      name: "few allowed",
      level: "warning",
      arrange: instance({ descriptors: { open: 40, limit: 1_024 } }),
      seen: /need more/,
    },
    { name: "not known", level: "unknown", arrange: instance({ descriptors: null }), seen: /does not say/ },
  ],
  certificate: [
    well("no port shows it", /No port needs/),
    {
      name: "trusted",
      level: "ok",
      arrange: instance({ submission: ["0.0.0.0:587"] }),
      seen: /0\.0\.0\.0:587 is trusted, and holds for 60 days/,
    },
    {
      name: "self-made, where programs from outside hand in mail",
      level: "warning",
      arrange: instance({
        submission: ["127.0.0.1:2587", "[::]:465"],
        certificate: { isSelfMade: true, isPublic: false, endsAt: NOW + DAY_MS, isLate: false },
      }),
      seen: /The certificate at \[::\]:465 is self-made: browsers and mail programs refuse it/,
    },
    {
      name: "self-made, and only this machine looks at it",
      level: "ok",
      arrange: instance({
        submission: ["127.0.0.1:2587"],
        certificate: { isSelfMade: true, isPublic: false, endsAt: NOW + DAY_MS, isLate: false },
      }),
      seen: /No port needs/,
    },
    {
      name: "of one's own authority",
      level: "warning",
      arrange: instance({
        tls: ["0.0.0.0:443"],
        certificate: { isSelfMade: false, isPublic: false, endsAt: NOW + 60 * DAY_MS, isLate: false },
      }),
      seen: /not public/,
    },
    {
      name: "late",
      level: "warning",
      arrange: instance({
        tls: ["0.0.0.0:443"],
        certificate: { isSelfMade: false, isPublic: true, endsAt: NOW + 2 * DAY_MS, isLate: true },
      }),
      seen: /ends in 2 days/,
    },
    {
      name: "ended",
      level: "problem",
      arrange: instance({
        tls: ["0.0.0.0:443"],
        certificate: { isSelfMade: false, isPublic: true, endsAt: NOW - 2 * DAY_MS, isLate: true },
      }),
      seen: /has ended/,
    },
  ],
} satisfies Record<string, Case[]>;
