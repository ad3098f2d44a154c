import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { copyLiveDatabase } from "../../platform/db/file/live-copy.ts";
import { databaseFile } from "../../platform/db/open.ts";
import { becomeOwner } from "../client/data-owner.ts";
import { findInstance } from "../client/settings.ts";
import { type Command, CommandError } from "../framework/definition.ts";
import { plain } from "../framework/text.ts";

/** `pombo backup FILE`: a copy of the database, whether the instance runs or not. */
export const backup: Command = {
  name: "backup",
  arguments: ["FILE"],
  options: {
    config: { value: "FILE", about: "the configuration, as for serve" },
    "data-dir": { value: "DIR", about: "the data directory, instead of the configuration" },
  },
  about: "Copy the database to a new file while pombo runs.",
  async run(args, terminal) {
    const { dataDir } = findInstance({ config: args.text("config"), dataDir: args.text("data-dir") }, terminal.env);
    const copy = resolve(args.argument("FILE"));
    becomeOwner(dataDir);
    const file = databaseFile(dataDir);
    if (!existsSync(file)) throw new CommandError(`There is no database in ${plain(dataDir)}.`);
    const bytes = copyLiveDatabase(file, copy);
    terminal.say(
      `Copied to ${plain(copy)} (${Math.ceil(bytes / 1024 ** 2)} MiB). Without the recovery key, which pombo init showed, nobody can use the copy.`,
    );
  },
};
