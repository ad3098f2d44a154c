// The world broken for one finding at a time: what comes back, and blocklists.

import type { InstanceView } from "../../../../src/modules/doctor/world.ts";
import { HOST } from "../world.ts";
import { addEgress } from "../egress.ts";
import { type Case, failing, sendByIpv6, well, without } from "./kit.ts";

const LISTED = "7.113.0.203.zen.spamhaus.org";

export const WORLD_CASES = {
  bounce_host: [
    well("leads here", /come here/),
    { name: "no address", level: "problem", arrange: without(HOST), seen: /has no address/, isCuredByRecord: true },
    {
      name: "an MX that leads elsewhere",
      level: "problem",
      arrange({ dns }) {
        dns.zone[HOST] = { ...dns.zone[HOST], MX: [[10, "mx.other.example"]] };
        dns.zone["mx.other.example"] = { A: ["203.0.113.99"] };
      },
      seen: /leads to 203\.0\.113\.99/,
      isCuredByRecord: true,
    },
    {
      name: "nothing is taken",
      level: "warning",
      arrange: ({ config }) => void (config.inbound.listen = null),
      seen: /listen is empty/,
    },
    failing("the MX", `MX ${HOST}`),
  ],
  bounce_port: [
    well("takes the mailboxes", /takes mail to postmaster@mail\.pombo\.test and abuse@/),
    {
      name: "refuses a mailbox",
      level: "problem",
      arrange: (world) => void (world.smtp = { replies: { "RCPT TO:<abuse": "550 5.1.1 nobody here" } }),
      seen: /to “RCPT TO:<abuse@mail\.pombo\.test>” it says 550 5\.1\.1 nobody here/,
    },
    {
      name: "is closed",
      level: "problem",
      arrange: (world) => void (world.instance = { ...world.instance, inbound: "127.0.0.1:1" } as InstanceView),
      seen: /refused the connection/,
    },
    {
      name: "says nothing SMTP",
      level: "problem",
      arrange: (world) => void (world.smtp = { greeting: "SSH-2.0-OpenSSH_9.9" }),
      seen: /does not speak SMTP/,
    },
  ],
  bounce_letter: [
    well("taken", /message to fbl@mail\.pombo\.test is taken/),
    {
      name: "refused before the message",
      level: "problem",
      arrange: (world) => void (world.smtp = { replies: { DATA: "452 4.3.1 no room" } }),
      seen: /not taken: to “DATA” it says 452 4\.3\.1 no room/,
    },
    {
      name: "refused after the message",
      level: "problem",
      arrange: (world) => void (world.smtp = { replies: { ".": "451 4.3.0 later" } }),
      seen: /not taken: to “the message” it says 451 4\.3\.0 later/,
    },
    {
      name: "not tried where the mailboxes are not taken",
      level: "unknown",
      arrange: (world) => void (world.smtp = { replies: { "RCPT TO:<abuse": "550 5.1.1 nobody here" } }),
      seen: /see bounce_port/,
    },
  ],
  blocklist: [
    well("not listed", /is not on Spamhaus ZEN/),
    {
      name: "an egress is listed",
      level: "problem",
      async arrange(world) {
        await addEgress(world, {});
        world.dns.zone["9.113.0.203.zen.spamhaus.org"] = { A: ["127.0.0.3"] };
      },
      seen: /203\.0\.113\.9 is on the blocklist Spamhaus ZEN/,
    },
    {
      name: "listed",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[LISTED] = { A: ["127.0.0.3"] }),
      seen: /203\.0\.113\.7 is on the blocklist Spamhaus ZEN \(127\.0\.0\.3\): CSS/,
    },
    {
      name: "listed in one that few use",
      level: "warning",
      arrange({ dns, config }) {
        config.doctor.blockLists = ["psbl.surriel.com"];
        dns.zone["2.0.0.127.psbl.surriel.com"] = { A: ["127.0.0.2"] };
        dns.zone["7.113.0.203.psbl.surriel.com"] = { A: ["127.0.0.2"] };
      },
      seen: /PSBL/,
    },
    {
      name: "IPv6 that is listed",
      level: "problem",
      arrange(world) {
        sendByIpv6(world);
        const nibbles = "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2";
        world.dns.zone[`${nibbles}.zen.spamhaus.org`] = { A: ["127.0.0.2"] };
      },
      seen: /2001:db8::7 is on the blocklist/,
    },
    {
      name: "one that lists the world says nothing",
      level: "unknown",
      arrange({ dns }) {
        dns.zone[LISTED] = { A: ["127.0.0.2"] };
        dns.zone["1.0.0.127.zen.spamhaus.org"] = { A: ["127.0.0.2"] };
      },
      seen: /lists the whole world/,
    },
    {
      name: "one that was shut down says nothing",
      level: "unknown",
      arrange: without("2.0.0.127.zen.spamhaus.org"),
      seen: /test entry is not on it/,
    },
    {
      name: "one that refuses the resolver",
      level: "unknown",
      arrange({ dns }) {
        for (const name of [LISTED, "2.0.0.127.zen.spamhaus.org"]) dns.zone[name] = { A: ["127.255.255.254"] };
      },
      seen: /refuses public resolvers/,
    },
    {
      name: "one that a portal answers for",
      level: "unknown",
      arrange: ({ dns }) => void (dns.zone["2.0.0.127.zen.spamhaus.org"] = { A: ["198.51.100.1"] }),
      seen: /it answers 198\.51\.100\.1/,
    },
    {
      name: "with a key another name is asked, and the key is not shown",
      level: "problem",
      arrange({ dns, config }) {
        config.doctor.spamhausKey = "abcdefghijklmnopqrstuvwxyz";
        const zone = "abcdefghijklmnopqrstuvwxyz.zen.dq.spamhaus.net";
        dns.zone[`2.0.0.127.${zone}`] = { A: ["127.0.0.2"] };
        dns.zone[`7.113.0.203.${zone}`] = { A: ["127.0.0.10"] };
      },
      seen: /^(?!.*abcdefgh).*PBL/,
    },
    failing("the list", LISTED),
  ],
  blocklist_name: [
    well("not listed", /pombo\.test is not on Spamhaus DBL/),
    {
      name: "listed",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone["pombo.test.dbl.spamhaus.org"] = { A: ["127.0.1.2"] }),
      seen: /pombo\.test is on the blocklist Spamhaus DBL/,
    },
    failing("the list", "pombo.test.dbl.spamhaus.org"),
  ],
} satisfies Record<string, Case[]>;
