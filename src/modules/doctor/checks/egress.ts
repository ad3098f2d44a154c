// The way out by each [[egress]]: whether its proxy leads to a mail server, and whether that one takes us.

import { StartError } from "../../../platform/errors.ts";
import { type Egress, openEgresses } from "../../emails/delivery/egresses.ts";
import { bad, type Finding, ok, quote, unknown } from "../finding.ts";
import type { Probed, World } from "../world.ts";

export async function checkEgresses(world: World): Promise<Finding[]> {
  const { config } = world;
  const found = await Promise.all(config.egress.map((each) => checkOne(each, world)));
  return found.flat();
}

async function checkOne(config: World["config"]["egress"][number], world: World): Promise<Finding[]> {
  const id = "egress";
  const { name } = config;
  const about = { subject: name };
  let egress: Egress | undefined;
  try {
    [egress] = openEgresses([config]);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return [bad(id, "problem", { ...about, seen: error.message, step: "Correct its [[egress]], and restart pombo." })];
  }
  const targets = (await world.probed()).filter((each) => each.kind === "talked" && !each.address.includes(":"));
  const [target] = targets;
  if (egress === undefined || target?.kind !== "talked")
    return config.proxy === null || world.config.doctor.probes.length === 0
      ? []
      : [unknown(id, `No mail server could be found in DNS to try the egress ${name} with.`, about)];
  return [await tryEgress(egress, target, world)];
}

async function tryEgress(
  egress: Egress,
  { host, address }: Extract<Probed, { kind: "talked" }>,
  world: World,
): Promise<Finding> {
  const id = "egress";
  const { name, heloName, localAddress, dial, proxy } = egress;
  const about = { subject: name };
  const port = world.config.email.destinationPort;
  const talk = await world.talk({ address, port }, [`EHLO ${heloName}`], { localAddress, dial });
  const way = proxy === null ? `The egress ${name} (${egress.address})` : `The proxy ${proxy} of the egress ${name}`;
  if (talk.kind === "given_up")
    return unknown(id, `Whether the egress ${name} leads out is not known: the time was over.`, about);
  const [greeting] = talk.replies;
  if (greeting?.code === 220) return ok(id, `${way} leads to ${host}, which takes us.`, about);
  if (greeting !== undefined)
    return bad(id, "warning", {
      ...about,
      seen: `${way} leads to ${host}, which does not take us: ${greeting.code} ${quote(greeting.lines.join(" "), 80)}.`,
      step: `Read its answer above. pombo doctor --only reputation shows whether ${egress.address} is on a blocklist.`,
    });
  const reason = talk.kind === "replied" ? "it said nothing" : talk.reason;
  if (talk.kind !== "replied" && talk.isProxyAtFault)
    return bad(id, "problem", {
      ...about,
      seen: `${way} does not lead out: ${quote(reason)}. Mail that leaves by it waits, and loses no attempt.`,
      step: `See that the proxy runs, that it lets this machine in, that user and password are right, and that it allows CONNECT to port ${port}: docs/egress.md has a configuration for Dante. If you take its [[egress]] out and restart pombo, that mail leaves by another address.`,
    });
  return bad(id, "problem", {
    ...about,
    seen: `${way} does not reach ${host} on port ${port}: ${quote(reason)}.`,
    step: `Ask the hoster of ${egress.address} to open outgoing TCP port ${port}.`,
  });
}
