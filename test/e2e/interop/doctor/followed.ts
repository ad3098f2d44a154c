// Steps that name a command of the doctor, which shows what to publish: the command is run, and its steps carried out.

import type { FindingId } from "../../../../src/modules/doctor/catalog.ts";
import type { Doctor, Lines, Report } from "./kit.ts";
import { carryOut } from "./steps.ts";
import { HOST, type Records, REVERSE, type Servers } from "./world.ts";

interface Scene {
  doctor: Doctor;
  lines: Lines;
  servers: Servers;
  /** As they were published. */
  first: Records;
}

export async function checkFollowed(scene: Scene): Promise<void> {
  const { doctor, lines, servers, first } = scene;
  const [rsa = ""] = Object.keys(first).filter((key) => key.includes("._domainkey."));
  const [name = ""] = rsa.split(" ");
  const [start = ""] = first[rsa]?.[0]?.match(/"[^"]*"/) ?? [];
  await servers.bind.set(name, "TXT", [start]);
  await follow({ ...scene, id: "resolver_txt", what: "published without its second string", level: "warning" });

  await servers.bind.set(REVERSE, "PTR", []);
  await follow({ ...scene, id: "provider_rules", what: "no PTR", level: "problem" });
  const again = await doctor.look("ptr");
  lines.expect(again, { id: "ptr", level: "ok", what: `${HOST} again`, isCure: true });
}

/** The finding, the command in its step, what that one says is to be done, and the finding again. */
async function follow({
  doctor,
  lines,
  servers: { bind },
  first,
  id,
  what,
  level,
}: Scene & { id: FindingId; what: string; level: "warning" | "problem" }): Promise<void> {
  const found = lines.expect(await doctor.look(id), { id, what, level });
  await followStep({ doctor, lines, bind, first, step: found?.step ?? "", id });
  lines.expect(await doctor.look(id), { id, level: "ok", what: `${what}, the step carried out`, isCure: true });
}

export async function followStep(options: {
  doctor: Doctor;
  lines: Lines;
  bind: Servers["bind"];
  first: Records;
  step: string;
  id: FindingId;
}): Promise<Report["findings"]> {
  const { doctor, lines, bind, first, step, id } = options;
  const only = /pombo doctor --only ([a-z_,]+)/.exec(step)?.[1];
  lines.claim(`${id}: its step names a command`, only !== undefined, () => step);
  const { findings } = await doctor.look(only);
  const due = findings.filter((each) => each.level === "problem" && each.step !== null && each.id !== id);
  lines.claim(`${id}: the command shows what is wrong`, due.length > 0, () => JSON.stringify(findings));
  for (const each of due) await carryOut(each.step ?? "", bind, (own, type) => first[`${own} ${type}`] ?? []);
  return due;
}
