// SPF as a receiver evaluates it: of the name in EHLO, which counts for bounces, and of the host of the return paths.

import { formatZoneRecord } from "../../../protocols/dns/zone-file.ts";
import { evaluateSpf, type SpfResult } from "../../../protocols/spf/evaluate.ts";
import { selectRecords } from "../../../protocols/spf/record.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import { withoutAddress } from "../sending.ts";
import type { SendingAddress, World } from "../world.ts";

/** In no network: what passes for it passes for everybody. */
const NOBODY = "0.0.0.0";

export async function checkSpf(world: World): Promise<Finding[]> {
  const sending = await world.sending();
  const { addresses } = sending;
  const { hostname, email } = world.config;
  const { bounceHost } = email;
  const names = [...new Set([hostname, bounceHost, ...addresses.map(({ helo }) => helo)])];
  const namedBy = (name: string) => addresses.filter(({ helo }) => helo === name || name === bounceHost);
  const found = await Promise.all(names.map((name) => checkRecord(name, world, namedBy(name))));
  const passes = await Promise.all(names.flatMap((name) => namedBy(name).map((each) => checkPass(name, each, world))));
  return [...passes, ...withoutAddress(["spf"], sending), ...found];
}

async function checkPass(name: string, { address, family }: SendingAddress, world: World): Promise<Finding> {
  const id = "spf";
  const subject = `${name} ${address}`;
  const result = await evaluate(name, address, world);
  switch (result.outcome) {
    case "pass":
      return ok(id, `SPF of ${name} passes for ${address}.`, { subject });
    case "temperror":
      return unknown(id, `SPF of ${name} could not be looked up: ${quote(result.reason)}.`, { subject });
    default: {
      const said = result.outcome === "none" ? "There is no SPF record" : `SPF says ${result.outcome}`;
      const record = await buildRecord(name, world, `ip${family}:${address}`);
      return bad(id, "problem", {
        subject,
        seen: `${said} at ${name} for ${address}: ${quote(result.reason)}. Bounces and mail of all domains are counted as unauthenticated there.`,
        step:
          family === 6
            ? `${record}\nor do not send by IPv6. In the configuration:\n\n  [email]\n  source_ipv6 = ""`
            : record,
      });
    }
  }
}

/** The record to publish in the place of what is there, so that it names `term` too. */
async function buildRecord(name: string, { dns }: World, term: string): Promise<string> {
  const lookup = await dns.txt(name);
  const [present] = lookup.kind === "found" ? selectRecords(lookup.records) : [];
  const value = present === undefined ? `v=spf1 ${term} -all` : present.replace(/^v=spf1/i, `v=spf1 ${term}`);
  const action = present === undefined ? "Publish" : `Replace “${quote(present)}” by`;
  return `${action} at the DNS provider of ${name}:\n${formatZoneRecord({ type: "TXT", name, value: quote(value, 1_000) })}`;
}

/** The faults of a record whoever sends: looked for with an address that it should not know. */
async function checkRecord(name: string, world: World, addresses: readonly SendingAddress[]): Promise<Finding> {
  const id = "spf_record";
  const about = { subject: name };
  const result = await evaluate(name, NOBODY, world);
  const terms = addresses.map(({ family, address }) => `ip${family}:${address}`).join(" ") || "a";
  const whole = formatZoneRecord({ type: "TXT", name, value: `v=spf1 ${terms} -all` });
  switch (result.outcome) {
    case "temperror":
      return unknown(id, `The SPF record of ${name} could not be looked up: ${quote(result.reason)}.`, about);
    case "permerror":
      return bad(id, "problem", {
        ...about,
        seen: `The SPF record of ${name} is broken: ${quote(result.reason)}. Receivers then take it for none, or refuse.`,
        step: `Leave this one record there, and no other that begins with v=spf1:\n${whole}`,
      });
    case "none":
      return bad(id, "problem", {
        ...about,
        seen: `${name} has no SPF record.`,
        step: `Publish at the DNS provider of ${name}:\n${whole}`,
      });
    case "pass":
      return bad(id, "problem", {
        ...about,
        seen: `The SPF record of ${name} lets the whole world send in its name: ${quote(result.reason)}.`,
        step: `Replace it by:\n${whole}`,
      });
    case "neutral":
    case "softfail":
    case "fail":
      return ok(
        id,
        `The SPF record of ${name} needs ${result.lookups} of the 10 look-ups that receivers allow.`,
        about,
      );
  }
}

function evaluate(name: string, ip: string, { dns, config }: World): Promise<SpfResult> {
  return evaluateSpf({ ip, domain: name, sender: `postmaster@${name}`, helo: config.hostname, resolver: dns });
}
