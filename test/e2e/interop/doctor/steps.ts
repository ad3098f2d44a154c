// Carries out what a finding says is to be done, as its reader would: records that are pasted at the DNS provider, the
// ticket that the hoster answers, lines of a record that are taken out.

import type { Bind } from "../../../support/peers/bind.ts";
import { REVERSE } from "./world.ts";

const RECORD = /^(\S+)\. \d+ IN (A|AAAA|MX|TXT|CNAME) (.+)$/;
const TICKET = /set the reverse DNS \(PTR\) of \S+ to (\S+)\.$/;

/** `present`: the values of a name and type now. @throws Error when the step names nothing that can be done */
export async function carryOut(
  step: string,
  bind: Bind,
  present: (name: string, type: string) => readonly string[],
): Promise<void> {
  const lines = step.split("\n").map((line) => line.trim());
  let done = 0;
  const set = async (name: string, type: string, values: readonly string[]): Promise<void> => {
    await bind.set(name, type, values);
    done++;
  };
  const removed = /^Remove the (?:CNAME|record “(MX) 0 \.” at (\S+))\./.exec(step);
  const [, missed] = /^Remove all but one of these at (\S+):$/m.exec(step) ?? [];
  if (missed !== undefined) await set(missed, "TXT", [`"${lines[1]}"`]);
  const [, added] = /^Add to the record at (\S+), /.exec(step) ?? [];
  if (added !== undefined)
    await set(
      added,
      "TXT",
      present(added, "TXT").map((value) => value.replace(/"$/, `${lines[1]}"`)),
    );
  const [, tag, domain] = /^Take (\S+) out of the DMARC record of (\S+)\.$/.exec(step) ?? [];
  if (tag !== undefined)
    await set(
      `_dmarc.${domain}`,
      "TXT",
      present(`_dmarc.${domain}`, "TXT").map((value) => value.replace(`; ${tag}`, "")),
    );
  for (const line of lines) {
    const [, name = "", type = "", value = ""] = RECORD.exec(line) ?? [];
    if (removed !== null && name !== "") await bind.set(name, removed[1] ?? "CNAME", []);
    if (name !== "") await set(name, type, [value]);
    const [, hostname] = TICKET.exec(line) ?? [];
    if (hostname !== undefined) await set(REVERSE, "PTR", [`${hostname}.`]);
  }
  if (done === 0) throw new Error(`a step that cannot be carried out: ${step}`);
}
