// The systemd service that install.sh has written: where a set-up by root belongs.

import { chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { StartError } from "../../../platform/errors.ts";
import { findUser, isRoot, ownerBesideRoot } from "../../client/data-owner.ts";
import { PLACES } from "../../client/settings.ts";
import { plain } from "../../framework/text.ts";

const UNIT = "/etc/systemd/system/pombo.service";
/** `StateDirectory=` of the unit. */
const STATE_DIRECTORY = "/var/lib/pombo";

/** The systemd service that install.sh writes. */
interface Service {
  /** The configuration that it starts pombo with. */
  config: string;
  user: string;
}

/** Null: there is none. */
function findService(unit = UNIT): Service | null {
  const text = existsSync(unit) ? readFileSync(unit, "utf8") : "";
  const config = /^ExecStart=.* --config (\S+)/m.exec(text)?.[1];
  const user = /^User=(\S+)/m.exec(text)?.[1];
  return config === undefined || user === undefined ? null : { config, user };
}

/** Where a new configuration goes that nobody has named: root sets up the service. */
export function findNewConfigFile(): string {
  return (isRoot() ? findService()?.config : undefined) ?? "pombo.toml";
}

/** How to start what was set up with `file`, and what stands before and after a command about it. */
export function describeStart(
  file: string,
  dataDir: string,
  unit = UNIT,
): { start: string; runAs: string; place: string } {
  const service = findService(unit);
  // Commands find a configuration in /etc/pombo by themselves.
  const place = PLACES.includes(file) ? "" : ` --config ${plain(file)}`;
  if (service?.config !== file) return { start: `pombo serve --config ${plain(file)}`, runAs: "", place };
  const edit =
    dataDir === STATE_DIRECTORY
      ? []
      : [
          "sudo systemctl edit pombo      # it may write to no other folder: add these two lines",
          "[Service]",
          `ReadWritePaths=${plain(dataDir)}`,
        ];
  return {
    start: [...edit, "sudo systemctl enable --now pombo"].join("\n  "),
    runAs: `sudo -u ${service.user} `,
    place,
  };
}

/**
 * Makes the data directory of the service, which belongs to its user: what root makes there itself the service could not
 * open. Throws StartError where it stands already and is root's.
 */
export function makeServiceFolder(dataDir: string, file: string): void {
  const service = findService();
  if (!isRoot() || service?.config !== file || ownerBesideRoot(dataDir) !== null) return;
  const cure = `chown ${service.user}: ${plain(dataDir)}`;
  if (existsSync(dataDir))
    throw new StartError(
      `${plain(dataDir)} belongs to root, and the service runs as the user ${service.user}, who could not use it: ${cure}. Nothing was set up.`,
    );
  const owner = findUser(service.user);
  if (owner === null)
    throw new StartError(`The service runs as the user ${service.user}, and there is none: run install.sh again.`);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chownSync(dataDir, owner.uid, owner.gid);
}
