// The DNS records of a domain: as a table for people, and as lines for programs.

import type { OperatorDomainWithDns } from "../../../modules/domains/schema.ts";
import type { Terminal } from "../../framework/definition.ts";
import { type Column, type TableOptions, tableLines } from "../../framework/table.ts";
import { plain } from "../../framework/text.ts";

type Domain = typeof OperatorDomainWithDns.static;
type DnsRecord = Domain["dns"]["spf"];

const COLUMNS: Column<DnsRecord>[] = [
  { title: "STATUS", of: toStatus, kind: "status" },
  { title: "TYPE", of: ({ type }) => type },
  { title: "NAME", of: ({ name }) => name },
  { title: "VALUE", of: ({ value }) => value },
  { title: "IN DNS", of: ({ found }) => found?.join(" | ") ?? null },
  { title: "TO DO", of: ({ hint }) => hint ?? null },
];

const UNLIMITED: TableOptions = { width: Infinity, now: 0 };

export function recordLines({ dns }: Domain): string[] {
  return tableLines(listRecords(dns), COLUMNS, null);
}

/** A table for people. `isChecked`: the records were looked up. */
export function printRecords({ dns }: Domain, terminal: Terminal, isChecked: boolean): void {
  const records = listRecords(dns);
  const [titles = "", ...lines] = tableLines(records, COLUMNS.slice(isChecked ? 0 : 1, 3), UNLIMITED);
  terminal.say(titles);
  for (const [index, { status, value, found = [], hint }] of records.entries()) {
    terminal.say(lines[index] ?? "");
    // Not wrapped: it is to be copied.
    terminal.out(`  value   ${plain(value)}`);
    if (status !== "found") for (const each of found) terminal.say(`  in DNS  ${plain(each)}`);
    if (isChecked && hint !== undefined) terminal.say(`  to do   ${plain(hint)}`);
  }
}

function listRecords({ dkim, spf, dmarc }: Domain["dns"]): DnsRecord[] {
  return [...dkim, spf, dmarc];
}

/** DNS that did not answer leaves it unknown. */
function toStatus({ status }: DnsRecord): string {
  return status === "mismatch" ? "different" : (status ?? "unknown");
}
