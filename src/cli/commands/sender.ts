import type { OperatorWorkspace, SenderId } from "../../modules/workspaces/operator/schema.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { say } from "../framework/text.ts";

// `pombo sender …`: the names under which a workspace may send SMS.

type Sender = typeof SenderId.static;

const COLUMNS: Column<Sender>[] = [
  { title: "DEFAULT", of: ({ isDefault }) => (isDefault ? "yes" : "no") },
  { title: "PRIORITY", of: ({ priority }) => priority },
  { title: "NAME", of: ({ name }) => name },
];

export const SENDER_COMMANDS: OperatorCommand[] = [
  {
    name: "sender list",
    arguments: ["WORKSPACE"],
    about: "Lists the sender ids of a workspace.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const { senderIds } = await api.call<typeof OperatorWorkspace.static>("GET", `/operator/workspaces/${id}`);
      return list(senderIds, COLUMNS, "This workspace has no sender id. Add one with pombo sender add WORKSPACE NAME.");
    },
  },
  {
    name: "sender add",
    arguments: ["WORKSPACE", "NAME"],
    options: {
      default: { about: "make it the one that is used when a message names none" },
      priority: { value: "WORD", about: "otp, transactional or bulk; else the workspace's" },
    },
    about: "Lets a workspace send SMS under a name. The first one becomes its default.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const priority = given.text("priority");
      const body = {
        name: given.argument("NAME"),
        ...(given.isSet("default") ? { isDefault: true } : {}),
        ...(priority === undefined ? {} : { priority }),
      };
      const added = await api.call<Sender>("POST", `/operator/workspaces/${id}/sender-ids`, body);
      const place = added.isDefault ? ", by default" : "";
      return record(added, say`Workspace ${id} may send SMS as ${added.name}${place}.`);
    },
  },
  {
    name: "sender remove",
    arguments: ["WORKSPACE", "NAME"],
    about: "Takes a sender id from a workspace. Of the default one the oldest that is left takes the place.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const name = given.argument("NAME");
      const path = `/operator/workspaces/${id}/sender-ids/${encodeURIComponent(name)}`;
      const removed = await api.call<object>("DELETE", path);
      return record(removed, say`Workspace ${id} may not send SMS as ${name} any more.`);
    },
  },
];
