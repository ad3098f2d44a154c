// Tools of others, of exact versions, in a folder of this checkout that git does not know. Each is brought when it is
// first needed or its version changes.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The folder `name` below `root`, which `install` fills when what is there is not as `version` says. */
export async function bring(options: {
  root: string;
  name: string;
  version: string;
  install: (folder: string) => Promise<unknown>;
}): Promise<string> {
  const { root, name, version, install } = options;
  const folder = join(root, name);
  const stamp = join(folder, "installed.txt");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === version) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  console.error(`Bringing ${name} into .tools/ …`);
  await install(folder);
  writeFileSync(stamp, version);
  return folder;
}
