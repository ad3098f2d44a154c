// `pombo key create` and `pombo operator-key rotate`: replacements for lost keys. `pombo recovery-key check`: the one key
// that has no replacement.

import { timingSafeEqual } from "node:crypto";
import type { CreatedKey } from "../../modules/api-keys/schema.ts";
import type { KeptRecoveryKey } from "../../modules/operator/recovery-key.ts";
import type { RotatedKey } from "../../modules/workspaces/operator/schema.ts";
import { loadInstanceKey } from "../../platform/keyring/key-file.ts";
import { parseInstanceKey } from "../../platform/keyring/keyring.ts";
import { findWorkspace } from "../client/find.ts";
import { type OperatorCommand, record } from "../client/operator-command.ts";
import { findInstance } from "../client/settings.ts";
import { CommandError, type Terminal } from "../framework/definition.ts";
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
  {
    name: "recovery-key check",
    about:
      "Check that you keep the recovery key: paste it from where you keep it, or give it by standard input. If it is this instance's, pombo doctor stops reminding you.",
    async run({ api, args, terminal }) {
      const place = findInstance({ config: args.text("config"), dataDir: args.text("data-dir") }, terminal.env);
      const file = place.config().secrets.instanceKeyFile;
      const own = loadInstanceKey({ file, env: terminal.env });
      const parsed = parseInstanceKey(await askForKey(terminal));
      if (parsed.kind === "fault") throw new CommandError(`That is no recovery key. ${parsed.message}`);
      if (!timingSafeEqual(parsed.key, own))
        throw new CommandError("That is a recovery key, but not this instance's: its backups cannot be used with it.");
      const kept = await api.call<typeof KeptRecoveryKey.static>("POST", "/operator/recovery-key/kept");
      return record(
        kept,
        "This is the recovery key of this instance. Make sure that this copy is not only on this machine.",
      );
    },
  },
];

const MAX_CHARACTERS = 1024;

/** Reads one line from a person, or everything from a program. Throws CommandError when nothing was given. */
async function askForKey({ input, isInteractive, err }: Terminal): Promise<string> {
  if (isInteractive) err("The recovery key, as pombo init showed it, then Enter:");
  const decoder = new TextDecoder();
  let read = "";
  for await (const chunk of input()) {
    read += decoder.decode(chunk, { stream: true });
    if ((isInteractive && /\S.*\n/.test(read)) || read.length > MAX_CHARACTERS) break;
  }
  const said = read.trim();
  if (said === "") throw new CommandError("No key was given. Paste it, or: pombo recovery-key check < FILE", 2);
  return isInteractive ? (said.split("\n", 1)[0] ?? "") : said;
}
