// `[doctor]`: how pombo examines itself, and what it asks outside for that.

import { Type } from "@sinclair/typebox";
import { duration, list, optional, special, text } from "./fields.ts";

const LISTS_MAX = 20;
const PROBES_MAX = 5;

export const DoctorSchema = Type.Object({
  everyMs: duration(["0s", "7d"], "How often the instance examines itself; 0s = only when asked (pombo doctor).", "1h"),
  spamhausKey: optional(
    "spamhaus_key",
    "The key of a (free) Spamhaus Data Query Service account, for machines whose resolver Spamhaus refuses; empty = none.",
  ),
  blockLists: list(text("hostname", "One zone."), [0, LISTS_MAX], "DNS blocklists of addresses that are asked.", [
    "zen.spamhaus.org",
    "bl.spamcop.net",
    "b.barracudacentral.org",
    "bl.mailspike.net",
    "psbl.surriel.com",
  ]),
  nameLists: list(text("hostname", "One zone."), [0, LISTS_MAX], "DNS blocklists of domain names that are asked.", [
    "dbl.spamhaus.org",
  ]),
  probes: list(
    text("hostname", "One domain."),
    [0, PROBES_MAX],
    "Domains to whose mail servers a connection is tried, of different makers; nothing is sent.",
    ["gmail.com", "yahoo.com", "icloud.com"],
  ),
  releases: optional(
    "release_url",
    "The https address of the folder of the newest release, which is asked at each run for its version; empty = not asked.",
  ),
  timeServer: special<{ host: string; port: number } | null>(
    "time_server",
    "The NTP server that the clock is compared with; empty = none.",
    "pool.ntp.org",
  ),
});
