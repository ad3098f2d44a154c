// `pombo key create` and `pombo operator-key rotate`: replacements for lost keys.

import type { CreatedKey } from "../../modules/api-keys/schema.ts";
import type { RotatedKey } from "../../modules/workspaces/operator/schema.ts";
import { findWorkspace } from "../client/find.ts";
import { type OperatorCommand, record } from "../client/operator-command.ts";
import { say } from "../framework/text.ts";
import { formatKey } from "./workspace.ts";

export const KEY_COMMANDS: OperatorCommand[] = [
  {
    name: "key create",
    arguments: ["WORKSPACE", "NAME"],
    about: "Create an API key for a workspace that has lost its own, and show it once.",
    async run({ api, args }) {
      const id = await findWorkspace(api, args.argument("WORKSPACE"));
      const body = { name: args.argument("NAME") };
      const created = await api.call<typeof CreatedKey.static>("POST", `/operator/workspaces/${id}/keys`, body);
      return record(created, formatKey(say`API key ${created.name} of workspace ${id}`, created.key));
    },
  },
  {
    name: "operator-key rotate",
    about: "Replace the operator key, and show the new one once. Commands on this machine need no key.",
    async run({ api }) {
      const rotated = await api.call<typeof RotatedKey.static>("POST", "/operator/key/rotate");
      return record(rotated, formatKey("The new operator key (the old one is no longer valid)", rotated.operatorKey));
    },
  },
];
