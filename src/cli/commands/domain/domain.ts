// `pombo domain …`: the sending domains of all workspaces.

import type { OperatorDomain, OperatorDomainWithDns } from "../../../modules/domains/schema.ts";
import { formatZone } from "../../../modules/domains/zone.ts";
import { type Option, UsageError } from "../../framework/definition.ts";
import { findDomain, findOnlyWorkspace, findWorkspace } from "../../client/find.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../../client/operator-command.ts";
import type { Column } from "../../framework/table.ts";
import { paintStatus } from "../../framework/screen.ts";
import { plain, say } from "../../framework/text.ts";
import { printRecords, recordLines } from "./records.ts";

type Domain = typeof OperatorDomain.static;
type DomainWithDns = typeof OperatorDomainWithDns.static;

const COLUMNS: Column<Domain>[] = [
  { title: "ID", of: ({ id }) => id, kind: "id" },
  { title: "DOMAIN", of: ({ domain }) => domain },
  { title: "STATUS", of: ({ status }) => status, kind: "status" },
  { title: "VERIFIED", of: ({ verifiedAt }) => verifiedAt, kind: "time" },
  { title: "WORKSPACE", of: ({ workspaceId }) => workspaceId, kind: "id" },
];

const ZONE: Option = { about: "print the records as a zone file instead, for BIND and DNS providers that import one" };

/** The statuses of a domain that can send. */
const SENDING = new Set<Domain["status"]>(["verified", "warning"]);

export const DOMAIN_COMMANDS: OperatorCommand[] = [
  {
    name: "domain list",
    arguments: ["[WORKSPACE]"],
    about: "List the sending domains of all workspaces, or of one, newest first.",
    async run({ api, args }) {
      const wanted = args.optional("WORKSPACE");
      const workspaceId = wanted === undefined ? undefined : await findWorkspace(api, wanted);
      const all = await api.all<Domain>("/operator/domains", { workspaceId });
      const none =
        workspaceId === undefined ? "No workspace has registered a domain" : "This workspace has registered no domain";
      return list(all, COLUMNS, `${none}. Register one with pombo domain add NAME.`);
    },
  },
  {
    name: "domain add",
    arguments: ["NAME"],
    options: {
      workspace: { value: "WORKSPACE", about: "the workspace that sends from it (the only one there is)" },
      zone: ZONE,
    },
    about: "Register a sending domain for a workspace, and show the DNS records to publish.",
    async run(work) {
      const { api, args } = work;
      refuseZoneAsJson(work);
      const wanted = args.text("workspace");
      const id = await (wanted === undefined ? findOnlyWorkspace(api) : findWorkspace(api, wanted));
      const body = { domain: args.argument("NAME") };
      const added = await api.call<DomainWithDns>("POST", `/operator/workspaces/${id}/domains`, body);
      return showRecords(work, added, {
        before: say`${added.domain} is registered for workspace ${id}. Publish these records at its DNS provider:`,
        after: say`The first one is needed to send; the others improve delivery. Then look whether they are there:\n\n  pombo domain check ${added.domain}`,
        isChecked: false,
      });
    },
  },
  {
    name: "domain check",
    arguments: ["DOMAIN"],
    options: {
      workspace: { value: "WORKSPACE", about: "where several workspaces have registered it" },
      zone: ZONE,
    },
    about:
      "Look up the DNS records of a domain now, and show what was found and what to do. " +
      "Exit code 0: it can send, or --zone printed its records; 1: it cannot.",
    async run(work) {
      const { api, args } = work;
      refuseZoneAsJson(work);
      const wanted = args.text("workspace");
      const workspaceId = wanted === undefined ? undefined : await findWorkspace(api, wanted);
      const id = await findDomain(api, args.argument("DOMAIN"), workspaceId);
      const checked = await api.call<DomainWithDns>("POST", `/operator/domains/${id}/verification-checks`);
      if (!SENDING.has(checked.status) && !args.isSet("zone")) work.terminal.setExitCode(1);
      return showRecords(work, checked, {
        before: `${plain(checked.domain)} is ${paintStatus(checked.status)}.`,
        after: plain(checked.hint ?? ""),
        isChecked: true,
      });
    },
  },
  {
    name: "domain suspend",
    arguments: ["DOMAIN"],
    about: "Refuse mail from a domain until it is resumed.",
    async run(work) {
      const domain = await suspend(work, true);
      return record(domain, say`${domain.domain} is suspended: mail from it is refused.`);
    },
  },
  {
    name: "domain resume",
    arguments: ["DOMAIN"],
    about: "Lift a suspension and check the domain's DNS records again.",
    async run(work) {
      const domain = await suspend(work, false);
      return record(domain, say`${domain.domain} is no longer suspended; it is ${domain.status}.`);
    },
  },
];

interface Words {
  before: string;
  after: string;
  isChecked: boolean;
}

/** People get the records between words; a zone file, and the lines for a program, have no words. */
function showRecords({ args, terminal, isJson }: Work, domain: DomainWithDns, words: Words): Shown {
  if (isJson) return record(domain, "");
  if (args.isSet("zone")) terminal.out(formatZone(domain));
  else if (terminal.width === null) terminal.out(recordLines(domain).join("\n"));
  else {
    terminal.say(`${words.before}\n`);
    printRecords(domain, terminal, words.isChecked);
    if (words.after !== "") terminal.say(`\n${words.after}`);
  }
  return { kind: "shown" };
}

function refuseZoneAsJson({ args, isJson }: Work): void {
  if (isJson && args.isSet("zone")) throw new UsageError("--zone and --json cannot be combined.");
}

async function suspend({ api, args }: Work, suspended: boolean): Promise<Domain> {
  const id = await findDomain(api, args.argument("DOMAIN"));
  return api.call<Domain>("PATCH", `/operator/domains/${id}`, { suspended });
}
