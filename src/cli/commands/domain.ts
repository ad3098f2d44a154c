// `pombo domain …`: the sending domains of all workspaces.

import type { OperatorDomain } from "../../modules/domains/schema.ts";
import { findDomain, findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { say } from "../framework/text.ts";

type Domain = typeof OperatorDomain.static;

const COLUMNS: Column<Domain>[] = [
  { title: "ID", of: ({ id }) => id, kind: "id" },
  { title: "DOMAIN", of: ({ domain }) => domain },
  { title: "STATUS", of: ({ status }) => status, kind: "status" },
  { title: "VERIFIED", of: ({ verifiedAt }) => verifiedAt, kind: "time" },
  { title: "WORKSPACE", of: ({ workspaceId }) => workspaceId, kind: "id" },
];

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
      return list(all, COLUMNS, `${none} (POST /api/v1/domains with its API key).`);
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

async function suspend({ api, args }: Work, suspended: boolean): Promise<Domain> {
  const id = await findDomain(api, args.argument("DOMAIN"));
  return api.call<Domain>("PATCH", `/operator/domains/${id}`, { suspended });
}
