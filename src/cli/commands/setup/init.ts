import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { databaseFile } from "../../../platform/db/open.ts";
import { parseHostPort } from "../../../config/config.ts";
import { StartError } from "../../../platform/errors.ts";
import { systemClock } from "../../../platform/clock.ts";
import { systemRandom } from "../../../platform/random.ts";
import type { Arguments, Command, Terminal } from "../../framework/definition.ts";
import { type ConfigOptions, forgetConfig, freshConfig, type Plan, writeConfig } from "./new-config.ts";
import { describeStart, findNewConfigFile, makeServiceFolder } from "./installed-service.ts";
import { formatLink } from "../people.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { readConfig } from "../../client/settings.ts";
import { type NewInstance, setUpInstance } from "./setup.ts";
import { jsonLine, plain } from "../../framework/text.ts";

/** `pombo init`: creates the data directory of a new instance and shows its keys once. An existing configuration is used. */
export const init: Command = {
  name: "init",
  arguments: [],
  options: {
    hostname: { value: "NAME", about: "the full name of this server, as in the reverse DNS of its address" },
    "data-dir": { value: "DIR", about: "the data directory (/var/lib/pombo)" },
    listen: { value: "ADDRESS", about: "the API's address and port (127.0.0.1:8080); in a container 0.0.0.0:8080" },
    https: { about: "serve https on port 443, with a certificate of Let's Encrypt's; port 80 must be open too" },
    config: {
      value: "FILE",
      about: "the configuration to write (that of the installed service for root, else pombo.toml)",
    },
    "no-next-steps": { about: "do not say how to start it and create a workspace: install.sh does that itself" },
    json: { about: "print one line of JSON, for programs" },
  },
  about: "Set up an instance: write its configuration, and show its keys once.",
  run: initialize,
};

function initialize(args: Arguments, terminal: Terminal): void {
  const options = {
    hostname: args.text("hostname"),
    dataDir: args.text("data-dir"),
    listen: args.text("listen"),
    isHttps: args.isSet("https"),
  };
  const file = resolve(args.text("config") ?? terminal.env["POMBO_CONFIG"] ?? findNewConfigFile());
  const isExisting = existsSync(file);
  const plan = isExisting ? existing(file, options, terminal) : freshConfig(file, options, terminal);
  const { config } = plan;
  const givenKey = terminal.env["POMBO_INSTANCE_KEY"] === "" ? undefined : terminal.env["POMBO_INSTANCE_KEY"];
  // First: keys that are shown once must not be created before everything else has worked.
  makeServiceFolder(config.dataDir, file);
  if (plan.text !== null) writeConfig(file, plan.text, { dataDir: config.dataDir, terminal });
  becomeOwner(config.dataDir);
  let created: NewInstance;
  try {
    created = setUpInstance(config, { random: systemRandom, now: systemClock.now(), givenKey });
  } catch (error) {
    if (!isExisting) forgetConfig(file, terminal);
    throw error;
  }
  const { link, ...keys } = created;
  const shown = { config: file, dataDir: config.dataDir, hostname: config.hostname, ...keys };
  const isHttps = config.tls.listen.length > 0 && config.tls.acme !== null;
  if (args.isSet("json")) terminal.out(jsonLine({ ...shown, dashboardUrl: link?.url ?? null }));
  else
    terminal.say(
      summary({ ...shown, link, bounceHost: config.email.bounceHost, isHttps }, !args.isSet("no-next-steps")),
    );
}

function existing(file: string, options: ConfigOptions, terminal: Terminal): Plan {
  const config = readConfig(file, terminal.env);
  if (existsSync(databaseFile(config.dataDir))) {
    throw new StartError(
      `${file} and its data directory ${config.dataDir} are set up already. Start this instance with pombo serve --config ${file}, or name another file with --config.`,
    );
  }
  const { hostname, dataDir, listen, isHttps } = options;
  const isSame =
    (hostname ?? config.hostname) === config.hostname &&
    resolve(dataDir ?? config.dataDir) === config.dataDir &&
    (listen === undefined || Bun.deepEquals(parseHostPort(listen), config.http.listen)) &&
    (isHttps !== true || config.tls.listen.length > 0);
  if (!isSame) {
    throw new StartError(
      `${file} exists already, and differs from --hostname, --data-dir, --listen or --https. Leave them out to use the file as it is, or name another file with --config.`,
    );
  }
  return { config, text: null };
}

type Made = NewInstance & { config: string; dataDir: string; hostname: string; bounceHost: string; isHttps: boolean };

function summary(made: Made, hasNextSteps: boolean): string {
  const { start, runAs, place } = describeStart(made.config, made.dataDir);
  const create = `${runAs}pombo workspace create "My company" --plan starter${place}`;
  const blocks = [
    "pombo is set up.",
    `  Configuration  ${made.config}
  Data           ${made.dataDir}`,
    `Operator key, shown only now. Programs on other machines create workspaces with it; commands on this one need no key. Keep it in a password manager:
  ${made.operatorKey}`,
    `Recovery key, shown only now. Without it a backup of the database cannot be used. Do not keep it on this server only:
  ${made.recoveryKey}`,
    ...(hasNextSteps ? [`Start it:\n  ${start}`] : []),
    ...(made.link === null
      ? []
      : [
          `The dashboard, once pombo runs: open this link and make yourself its operator. ${runAs}pombo dashboard link${place} shows another.`,
          formatLink(made.link),
        ]),
    `Bounces arrive by mail at ${made.bounceHost}: its A or MX record must point here, and port 25 must be open (or see [inbound]).`,
    ...(made.isHttps
      ? [
          `The API is at https://${plain(made.hostname)} once there is a certificate. Open ports 80 and 443 in every firewall on the way: the authority looks at port 80. pombo tls shows how it goes.`,
        ]
      : []),
    ...(hasNextSteps
      ? [`Then create the first workspace there, or by this command, which shows its API key:\n  ${create}`]
      : []),
  ];
  return blocks.join("\n\n");
}
