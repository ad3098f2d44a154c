// `pombo sender …`: the sender ids that a workspace's SMS may come from.

import type { OperatorWorkspace } from "../../modules/workspaces/operator/schema.ts";
import type { SenderId } from "../../modules/workspaces/schema.ts";
import { findWorkspace } from "../client/find.ts";
import { list, type OperatorCommand, record } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { say } from "../framework/text.ts";

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
    about: "List the sender ids of a workspace.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const { senderIds } = await api.call<typeof OperatorWorkspace.static>("GET", `/operator/workspaces/${id}`);
      return list(senderIds, COLUMNS, "This workspace has no sender id. Add one with pombo sender add WORKSPACE NAME.");
    },
  },
  {
    name: "sender add",
    arguments: ["WORKSPACE", "NAME"],
    options: {
      default: { about: "use it for messages that name no sender" },
      priority: { value: "PRIORITY", about: "otp, transactional or bulk (the workspace's)" },
    },
    about: "Add a sender id: a name or number that a workspace's SMS may come from. The first one is its default.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const isDefault = args.isSet("default") || undefined;
      const body = { name: args.argument("NAME"), isDefault, priority: args.text("priority") };
      const added = await api.call<Sender>("POST", `/operator/workspaces/${id}/sender-ids`, body);
      const place = added.isDefault ? ", by default" : "";
      return record(added, say`Workspace ${id} may send SMS as ${added.name}${place}.`);
    },
  },
  {
    name: "sender remove",
    arguments: ["WORKSPACE", "NAME"],
    about: "Remove a sender id. If it was the default, the oldest of the others becomes it.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const name = args.argument("NAME");
      const path = `/operator/workspaces/${id}/sender-ids/${encodeURIComponent(name)}`;
      const removed = await api.call<object>("DELETE", path);
      return record(removed, say`Workspace ${id} can no longer send SMS as ${name}.`);
    },
  },
];
