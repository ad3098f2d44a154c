// What passes with weeks: the age of a domain, a policy that is for its first weeks; and a resolver that cuts records.

import type { FindingId } from "../../../../../src/modules/doctor/catalog.ts";
import { carryOut } from "../steps.ts";
import { RESOLVERS, SENDER_DOMAIN } from "../world.ts";
import type { Later } from "./instance.ts";

export async function expectCured({ doctor, lines }: Later, id: FindingId, what: string): Promise<void> {
  lines.expect(await doctor.look(id), { id, level: "ok", what, isCure: true });
}

/** The servers that the step puts into the configuration. */
export async function checkCutting({ doctor, lines }: Later): Promise<string[]> {
  const id = "resolver_txt";
  const found = lines.expect(await doctor.look(id), { id, level: "warning", what: "a resolver that cuts TXT records" });
  const servers = /\[dns\] servers = (\[.*?\])/.exec(found?.step ?? "")?.[1];
  lines.claim(`${id}: its step names a resolver`, servers !== undefined, () => found?.step ?? "");
  return servers === undefined ? [RESOLVERS.good] : (JSON.parse(servers) as string[]);
}

/** The weeks that the step asks for are over. */
export async function checkAgeing({ doctor, lines, servers, first }: Later): Promise<void> {
  const about = { subject: SENDER_DOMAIN };
  const aged = await doctor.look("domain_age", ["--rdap"]);
  lines.expect(aged, { id: "domain_age", level: "ok", what: "seven weeks later", ...about, isCure: true });
  const id = "dmarc_policy";
  const what = "p=none after seven weeks";
  const found = lines.expect(await doctor.look(id), { id, level: "warning", what, ...about });
  await carryOut(found?.step ?? "", servers.bind, (name, type) => first[`${name} ${type}`] ?? []);
  const cured = await doctor.look(id);
  lines.expect(cured, { id, level: "ok", what: `${what}, the step carried out`, ...about, isCure: true });
}
