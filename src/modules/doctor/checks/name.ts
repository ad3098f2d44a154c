// The name of this server: its address in DNS, and the PTR of the address back to it, which large receivers ask of everybody.

import { isLoopback, reverseName } from "../../../platform/ip/address.ts";
import { bad, type Finding, ok, unknown } from "../finding.ts";
import { withoutAddress } from "../sending.ts";
import type { SendingAddress, World } from "../world.ts";

export async function checkName(world: World): Promise<Finding[]> {
  const sending = await world.sending();
  const { addresses, own } = sending;
  const [hostname, ...pointers] = await Promise.all([
    checkHostname(world, own),
    ...addresses.map((each) => checkPointer(each, world)),
  ]);
  return [hostname, ...pointers.flat(), ...withoutAddress(["ptr", "ptr_generic"], sending)];
}

async function checkHostname(world: World, sending: SendingAddress[]): Promise<Finding> {
  const id = "hostname";
  const { hostname } = world.config;
  const { dns } = world;
  const [alias, a, aaaa] = await Promise.all([dns.cname(hostname), dns.a(hostname), dns.aaaa(hostname)]);
  const failed = [alias, a, aaaa].find(({ kind }) => kind === "failed");
  const found = [a, aaaa].flatMap((lookup) => (lookup.kind === "found" ? lookup.records : []));
  const publish = sending
    .map(({ family, address }) => `${hostname}. 3600 IN ${family === 4 ? "A" : "AAAA"} ${address}`)
    .join("\n");
  const addRecord = `Publish at the DNS provider of ${hostname}:\n${publish || `${hostname}. 3600 IN A (the address of this server)`}`;
  if (alias.kind === "found")
    return bad(id, "problem", {
      seen: `${hostname} is a CNAME to ${alias.records.join(", ")}: a mail server's name must have an address of its own, and bounces may not come back.`,
      step: `Remove the CNAME. ${addRecord}`,
    });
  if (found.length === 0) {
    if (failed?.kind === "failed") return unknown(id, `${hostname} could not be looked up: ${failed.reason}.`);
    return bad(id, "problem", {
      seen: `${hostname}, the name that pombo greets with, has no address in DNS.`,
      step: addRecord,
    });
  }
  const isOurs = (address: string) =>
    sending.some((each) => each.address === address || each.local === address) ||
    world.ownAddresses().includes(address);
  const loop = found.filter((address) => isLoopback(address) && !world.isPublic(address));
  if (loop.length > 0)
    return bad(id, "problem", {
      seen: `${hostname} leads to ${loop.join(", ")}: this machine's own loopback, and nothing that others reach.`,
      step: `${addRecord}\nIf only this machine says so, take the name out of its line in /etc/hosts.`,
    });
  if (!found.some(isOurs) && sending.length > 0)
    return bad(id, "warning", {
      seen: `${hostname} leads to ${found.join(", ")}, and mail leaves from ${sending.map(({ address }) => address).join(", ")}.`,
      step: addRecord,
    });
  return ok(id, `${hostname} leads to ${found.join(", ")}.`);
}

async function checkPointer({ address, family, helo: hostname }: SendingAddress, world: World): Promise<Finding[]> {
  const { dns } = world;
  const about = { subject: address };
  const lookup = await dns.ptr(reverseName(address) ?? "");
  if (lookup.kind === "failed")
    return [unknown("ptr", `The PTR of ${address} could not be looked up: ${lookup.reason}.`, about)];
  const names = lookup.kind === "found" ? lookup.records : [];
  const step = pointerTicket(address, hostname, family);
  if (names.length === 0)
    return [
      bad("ptr", "problem", {
        ...about,
        seen: `${address} has no PTR record: Gmail, Yahoo and Outlook refuse or defer mail from such an address.`,
        step,
      }),
    ];
  const lead = await Promise.all(names.map((name) => leadsBack(name, address, world)));
  const generic = names.filter((name) => isGeneric(name, address));
  const others: Finding[] =
    generic.length === 0
      ? [ok("ptr_generic", `The PTR of ${address} is no name that a hoster gives to every address.`, about)]
      : [
          bad("ptr_generic", "warning", {
            ...about,
            seen: `The PTR of ${address} is ${generic.join(", ")}, a name made of the address, as dial-up lines have it: many receivers refuse it.`,
            step,
          }),
        ];
  if (names.includes(hostname)) {
    const back = lead[names.indexOf(hostname)];
    if (back === "unknown")
      return [
        unknown("ptr", `The PTR of ${address} is ${hostname}; whether that leads back could not be looked up.`, about),
        ...others,
      ];
    if (back === "yes") return [ok("ptr", `The PTR of ${address} is ${hostname}, which leads back.`, about), ...others];
    return [
      bad("ptr", "problem", {
        ...about,
        seen: `The PTR of ${address} is ${hostname}, which does not lead back to it: receivers count that as none.`,
        step: `Publish at the DNS provider of ${hostname}:\n${hostname}. 3600 IN ${family === 4 ? "A" : "AAAA"} ${address}`,
      }),
      ...others,
    ];
  }
  const isConfirmed = lead.includes("yes");
  if (!isConfirmed && lead.includes("unknown"))
    return [
      unknown(
        "ptr",
        `The PTR of ${address} is ${names.join(", ")}; whether that leads back could not be looked up.`,
        about,
      ),
      ...others,
    ];
  return [
    bad("ptr", isConfirmed ? "warning" : "problem", {
      ...about,
      seen: isConfirmed
        ? `The PTR of ${address} is ${names.join(", ")}, and pombo greets as ${hostname}.`
        : `The PTR of ${address} is ${names.join(", ")}, which does not lead back to it: receivers count that as none.`,
      step,
    }),
    ...others,
  ];
}

async function leadsBack(name: string, address: string, { dns }: World): Promise<"yes" | "no" | "unknown"> {
  const lookup = await (address.includes(":") ? dns.aaaa(name) : dns.a(name));
  if (lookup.kind === "failed") return "unknown";
  const wanted = reverseName(address);
  return lookup.kind === "found" && lookup.records.some((each) => reverseName(each) === wanted) ? "yes" : "no";
}

/** Whether the address stands in a name: 203-0-113-7, 7.113.0.203, cb007107. */
function isGeneric(name: string, address: string): boolean {
  if (address.includes(":")) {
    const nibbles = (reverseName(address) ?? "").split(".").slice(0, 32).toReversed().join("");
    return name.replaceAll(/[^0-9a-f]/g, "").includes(nibbles.slice(0, 16));
  }
  const octets = address.split(".");
  const hex = octets.map((octet) => Number(octet).toString(16).padStart(2, "0")).join("");
  const numbers = name.split(/[^0-9]+/).map((digits) => digits.replace(/^0+(?=\d)/, ""));
  const runs = [octets, octets.toReversed()].map((each) => each.join(" "));
  return runs.some((run) => ` ${numbers.join(" ")} `.includes(` ${run} `)) || name.split(/[.-]/).includes(hex);
}

function pointerTicket(address: string, hostname: string, family: 4 | 6): string {
  const switchOff =
    family === 6 ? '\nUntil then do not send by IPv6. In the configuration:\n\n  [email]\n  source_ipv6 = ""' : "";
  return [
    `Only your hoster can set it, most often in its panel under “reverse DNS”. Else by ticket:`,
    "",
    `  Please set the reverse DNS (PTR) of ${address} to ${hostname}.`,
    ...(switchOff === "" ? [] : [switchOff]),
  ].join("\n");
}
