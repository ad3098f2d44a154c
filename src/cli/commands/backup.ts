import { accessSync, constants, existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { copyLiveDatabase } from "../../platform/db/file/live-copy.ts";
import { databaseFile } from "../../platform/db/open.ts";
import { getErrorCode } from "../../platform/errors.ts";
import { becomeOwner, formatOwnUser } from "../client/data-owner.ts";
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
    requireWritable(dirname(copy), dataDir);
    const bytes = copyLiveDatabase(file, copy);
    terminal.say(
      `Copied to ${plain(copy)} (${Math.ceil(bytes / 1024 ** 2)} MiB). Without the recovery key, which pombo init showed, nobody can use the copy.`,
    );
  },
};

/** Root has become the owner of the data by now. */
function requireWritable(folder: string, dataDir: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (getErrorCode(error) !== "EACCES") return; // the copy says why
    throw new CommandError(
      `No copy was made: pombo writes as the user ${plain(formatOwnUser())}, who may not write in ${plain(folder)}. Name a file in a folder that this user may write to, such as ${plain(dataDir)}, and move it from there.`,
    );
  }
}
