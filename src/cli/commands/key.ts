import type { CreatedKey } from "../../modules/api-keys/schema.ts";
import type { RotatedKey } from "../../modules/workspaces/operator/schema.ts";
import { UsageError } from "../framework/failure.ts";
import { findWorkspace } from "../client/find.ts";
import { type OperatorCommand, record } from "../client/operator-command.ts";
import { say } from "../framework/text.ts";
import { keyWords } from "./workspace.ts";

// `pombo key …`: keys that somebody has lost.

export const KEY_COMMANDS: OperatorCommand[] = [
  {
    name: "key create",
    arguments: ["WORKSPACE", "NAME"],
    about: "Makes an API key for a workspace that has lost its own, and shows it once.",
    async run({ api, given }) {
      const id = await findWorkspace(api, given.argument("WORKSPACE"));
      const body = { name: given.argument("NAME") };
      const made = await api.call<typeof CreatedKey.static>("POST", `/operator/workspaces/${id}/keys`, body);
      return record(made, keyWords(say`API key ${made.name} of workspace ${id}`, made.key));
    },
  },
  {
    name: "key operator",
    options: { rotate: { about: "make a new one; the old one is refused from then on" } },
    about: "Replaces the operator key and shows the new one, once. Commands on this machine need none.",
    async run({ api, given }) {
      if (!given.isSet("rotate"))
        throw new UsageError("The operator key is kept nowhere and can only be replaced: add --rotate.");
      const made = await api.call<typeof RotatedKey.static>("POST", "/operator/key/rotate");
      return record(made, keyWords("The new operator key (the old one is not valid any more)", made.operatorKey));
    },
  },
];
