// The world broken for one finding at a time: what is about this server.

import type { InstanceView } from "../../../../src/modules/doctor/world.ts";
import { addEgress, EGRESS, EGRESS_PTR } from "../egress.ts";
import { DKIM, DOMAIN, HOST, IPV4, IPV6 } from "../world.ts";
import { type Case, failing, PTR, sendByIpv6, txt, well, without } from "./kit.ts";

export const HOST_CASES = {
  resolver_answers: [
    well("one that answers", /answers within/),
    {
      name: "one that is mute",
      level: "problem",
      arrange: (world) => void (world.mood = "mute"),
      seen: /No DNS server answers/,
    },
    {
      name: "one that fails",
      level: "problem",
      arrange: (world) => void (world.mood = "servfail"),
      seen: /answers SERVFAIL/,
    },
  ],
  resolver_honest: [
    well("NXDOMAIN for a name that nobody has", /NXDOMAIN/),
    {
      name: "an address for a name that nobody has",
      level: "problem",
      arrange: ({ dns }) => {
        const genuine = dns.fresh(0);
        dns.fresh = () => ({
          ...genuine,
          a: async () => ({ kind: "found", records: ["198.51.100.1"], ttlS: 1, server: "" }),
        });
      },
      seen: /198\.51\.100\.1/,
    },
    {
      name: "a failure is unknown",
      level: "unknown",
      arrange: ({ dns }) => {
        const genuine = dns.fresh(0);
        dns.fresh = () => ({ ...genuine, a: async () => ({ kind: "failed", reason: "SERVFAIL" }) });
      },
      seen: /could not be asked/,
    },
  ],
  resolver_tcp: [
    well("one that takes TCP", /come by TCP/),
    {
      name: "one that says nothing by TCP",
      level: "problem",
      arrange: (world) => void (world.mood = "no_tcp"),
      seen: /By TCP/,
    },
    {
      name: "none that answers",
      level: "unknown",
      arrange: (world) => void (world.mood = "mute"),
      seen: /none could be asked/,
    },
  ],
  resolver_dnssec: [
    well("one that validates", /validate/),
    { name: "one that does not", level: "warning", arrange: (world) => void (world.mood = "plain"), seen: /Not all/ },
    { name: "none that answers", level: "unknown", arrange: (world) => void (world.mood = "mute"), seen: /none says/ },
  ],
  resolver_txt: [
    well("whole", /arrive whole/),
    {
      name: "only the first string",
      level: "warning",
      arrange: txt(`pombo1._domainkey.${DOMAIN}`, [DKIM.slice(0, 255)]),
      seen: /Of the TXT record of pombo1\._domainkey\.loja\.example only the beginning arrives/,
    },
    failing("the key", `pombo1._domainkey.${DOMAIN}`),
  ],
  egress: [
    {
      name: "a proxy that leads out",
      level: "ok",
      arrange: (world) => addEgress(world, {}),
      seen: /The proxy 127\.0\.0\.1:\d+ of the egress lisbon leads to mx\.gmail\.com, which takes us/,
    },
    {
      name: "a proxy that is no SOCKS5",
      level: "problem",
      arrange: (world) => addEgress(world, { says: "HTTP/1.1 400 Bad Request\r\n\r\n" }),
      seen: /does not lead out: it does not speak SOCKS5\. Mail that leaves by it waits/,
      step: /docs\/egress\.md/,
    },
    {
      name: "a proxy whose rules forbid it",
      level: "problem",
      arrange: (world) => addEgress(world, { reply: 2 }),
      seen: /rules do not allow/,
      step: /allows CONNECT to port/,
    },
    {
      name: "port 25 is closed behind the proxy",
      level: "problem",
      arrange: (world) => addEgress(world, { reply: 6 }),
      seen: /does not reach mx\.gmail\.com on port \d+: connection timed out, says the proxy/,
      step: /hoster of 203\.0\.113\.9/,
    },
    {
      name: "a server that refuses this address",
      level: "warning",
      arrange: async (world) => {
        await addEgress(world, {});
        world.smtp = { greeting: "554 your address is listed" };
      },
      seen: /does not take us: 554/,
    },
    {
      name: "an address that this machine does not have",
      level: "problem",
      arrange: (world) => {
        world.config.egress = [EGRESS];
      },
      seen: /no address of this machine/,
    },
    {
      name: "no mail server to try it with",
      level: "unknown",
      arrange: async (world) => {
        await addEgress(world, {});
        world.dns.failures["gmail.com"] = "SERVFAIL";
      },
      seen: /No mail server could be found/,
    },
  ],
  address: [
    well("the machine's own", new RegExp(`leaves from ${IPV4}\\.`)),
    {
      name: "behind NAT it is what a mail server says",
      level: "ok",
      arrange: (world) => void (world.routes[4] = "10.1.2.3"),
      seen: new RegExp(`10\\.1\\.2\\.3, which the world sees as ${IPV4}`),
    },
    {
      name: "behind NAT, where no mail server says it, it is unknown",
      level: "unknown",
      arrange(world) {
        world.routes[4] = "10.1.2.3";
        world.smtp = { replies: { EHLO: "250 hello" } };
      },
      seen: /private address/,
    },
    { name: "none at all", level: "problem", arrange: (world) => void (world.routes[4] = null), seen: /no address/ },
  ],
  port25_out: [
    well("open", /mx\.gmail\.com 220/),
    {
      name: "closed",
      level: "problem",
      // Nobody listens there.
      arrange: ({ config }) => void (config.email.destinationPort = 1),
      seen: /closed on the way out.*refused the connection/,
    },
    {
      name: "a mail server that refuses this address",
      level: "problem",
      arrange: (world) => void (world.smtp = { greeting: "554 5.7.1 no mail from you" }),
      seen: /No mail server takes us.*554 5\.7\.1/,
    },
    {
      name: "a mail server that never greets",
      level: "problem",
      arrange: (world) => void (world.smtp = { greeting: null }),
      seen: /No mail server takes us.*did not answer within 5 s/,
    },
    {
      name: "no mail server in DNS is unknown",
      level: "unknown",
      arrange: without("gmail.com"),
      seen: /could be found/,
    },
  ],
  ports_in: [
    well("open", /is open on this machine/),
    {
      name: "closed though the instance runs",
      level: "problem",
      arrange: (world) => void (world.instance = { ...world.instance, inbound: "127.0.0.1:1" } as InstanceView),
      seen: /does not answer/,
    },
    {
      name: "a port of [submission] that is closed though the instance runs",
      level: "problem",
      arrange: ({ config }) => void (config.submission.listenTls = [{ address: "0.0.0.0", port: 2 }]),
      seen: /Port 2 of this machine does not answer \(programs that hand in mail\): 127\.0\.0\.1 refused/,
    },
    {
      name: "free before the start",
      level: "ok",
      arrange(world) {
        world.instance = null;
        world.config.inbound.listen = { address: "127.0.0.1", port: 1 };
      },
      seen: /free for pombo/,
    },
    {
      name: "another program has it before the start",
      level: "problem",
      arrange: (world) => void (world.instance = null),
      seen: /Another program listens.*mx\.gmail\.com ESMTP/,
    },
  ],
  ptr: [
    well("to the hostname and back", /leads back/),
    {
      name: "none of an egress",
      level: "problem",
      async arrange(world) {
        await addEgress(world, {});
        delete world.dns.zone[EGRESS_PTR];
      },
      seen: /203\.0\.113\.9 has no PTR/,
      step: /of 203\.0\.113\.9 to mail2\.pombo\.test/,
    },
    { name: "none", level: "problem", arrange: without(PTR), seen: /no PTR/ },
    {
      name: "to another name that leads back",
      level: "warning",
      arrange({ dns }) {
        dns.zone[PTR] = { PTR: ["server1.hoster.example"] };
        dns.zone["server1.hoster.example"] = { A: [IPV4] };
      },
      seen: /server1\.hoster\.example, and pombo greets as/,
    },
    {
      name: "to another name that leads elsewhere",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[PTR] = { PTR: ["server1.hoster.example"] }),
      seen: /does not lead back/,
    },
    {
      name: "to the hostname, which leads elsewhere",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[HOST] = { ...dns.zone[HOST], A: ["203.0.113.99"] }),
      seen: /does not lead back/,
      isCuredByRecord: true,
    },
    {
      name: "IPv6 without one",
      level: "problem",
      arrange(world) {
        sendByIpv6(world);
        without("7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa")(world);
      },
      seen: new RegExp(`${IPV6} has no PTR`),
    },
    failing("the PTR", PTR),
  ],
  ptr_generic: [
    well("a name of one's own", /no name that a hoster gives/),
    {
      name: "a name made of the address",
      level: "warning",
      arrange: ({ dns }) => void (dns.zone[PTR] = { PTR: ["static-203-0-113-7.hoster.example"] }),
      seen: /static-203-0-113-7/,
    },
    {
      name: "a name made of the address backwards",
      level: "warning",
      arrange: ({ dns }) => void (dns.zone[PTR] = { PTR: ["007.113.0.203.dsl.hoster.example"] }),
      seen: /dial-up/,
    },
    {
      name: "a number that is not the address",
      level: "ok",
      arrange: ({ dns }) => void (dns.zone[PTR] = { PTR: ["mx-1203-0-113-71.hoster.example"] }),
      seen: /no name/,
    },
  ],
  hostname: [
    well("leads here", new RegExp(`leads to ${IPV4}`)),
    { name: "none in DNS", level: "problem", arrange: without(HOST), seen: /has no address/, isCuredByRecord: true },
    {
      name: "a CNAME",
      level: "problem",
      arrange: ({ dns }) => void (dns.zone[HOST] = { CNAME: "server1.hoster.example" }),
      seen: /is a CNAME/,
      isCuredByRecord: true,
    },
    {
      name: "leads elsewhere",
      level: "warning",
      arrange: ({ dns }) => void (dns.zone[HOST] = { A: ["203.0.113.99"] }),
      seen: /leads to 203\.0\.113\.99, and mail leaves from/,
      isCuredByRecord: true,
    },
    {
      name: "leads to loopback",
      level: "problem",
      arrange({ dns, config }) {
        config.email.allowPrivateRanges = ["203.0.113.0/24"];
        dns.zone[HOST] = { A: ["127.0.1.1"] };
      },
      seen: /loopback/,
      isCuredByRecord: true,
    },
    failing("the hostname", HOST),
  ],
  spf: [
    well("passes", /passes/),
    {
      name: "knows nothing of an egress",
      level: "problem",
      async arrange(world) {
        await addEgress(world, {});
        txt(HOST, [`v=spf1 ip4:${IPV4} ip6:${IPV6} -all`])(world);
      },
      seen: /SPF says fail at mail\.pombo\.test for 203\.0\.113\.9/,
      isCuredByRecord: true,
    },
    { name: "none", level: "problem", arrange: txt(HOST, []), seen: /There is no SPF record/, isCuredByRecord: true },
    {
      name: "names another address",
      level: "problem",
      arrange: txt(HOST, ["v=spf1 ip4:203.0.113.99 ~all"]),
      seen: /SPF says softfail.*~all/,
      isCuredByRecord: true,
    },
    {
      name: "knows nothing of IPv6",
      level: "problem",
      arrange(world) {
        sendByIpv6(world);
        txt(HOST, [`v=spf1 ip4:${IPV4} -all`])(world);
      },
      seen: /SPF says fail/,
      isCuredByRecord: true,
    },
    failing("SPF", `TXT ${HOST}`),
  ],
  spf_record: [
    well("within the limits", /needs 0 of the 10 look-ups/),
    {
      name: "two",
      level: "problem",
      arrange: txt(HOST, ["v=spf1 -all", "v=spf1 a -all"]),
      seen: /2 SPF records/,
      isCuredByRecord: true,
    },
    { name: "none", level: "problem", arrange: txt(HOST, []), seen: /no SPF record/, isCuredByRecord: true },
    { name: "+all", level: "problem", arrange: txt(HOST, ["v=spf1 +all"]), seen: /whole world/, isCuredByRecord: true },
    {
      name: "a mistyped term",
      level: "problem",
      arrange: txt(HOST, ["v=spf1 ipv4:1.2.3.4 -all"]),
      seen: /“ipv4:1\.2\.3\.4” is no mechanism/,
      isCuredByRecord: true,
    },
    {
      name: "too many look-ups",
      level: "problem",
      arrange: txt(HOST, [`v=spf1 ${Array.from({ length: 11 }, () => `a:${HOST}`).join(" ")} -all`]),
      seen: /more than 10 look-ups/,
      isCuredByRecord: true,
    },
    {
      name: "names that are not there",
      level: "problem",
      arrange: txt(HOST, ["v=spf1 a:a.gone.example a:b.gone.example a:c.gone.example -all"]),
      seen: /more than 2 of its look-ups find nothing/,
      isCuredByRecord: true,
    },
    failing("the record", `TXT ${HOST}`),
  ],
} satisfies Record<string, Case[]>;
