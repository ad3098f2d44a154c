// The SMS routes of the configuration, with the files that they name read once, at the start.

import type { SmsRouteConfig } from "../../../config/config.ts";
import { StartError } from "../../../platform/errors.ts";
import { readAuthorities, readPassword } from "../../../config/secret-files.ts";
import type { StatusOverrides } from "../../../protocols/smpp/submit-outcome.ts";
import { LINK_DEFAULTS, type LinkSettings } from "../../../protocols/smpp/settings.ts";
import type { ErrorOverrides } from "../receipts/failure.ts";

export interface Route {
  config: SmsRouteConfig;
  statuses: StatusOverrides;
  errors: ErrorOverrides;
  links: LinkSettings[];
}

/** The routes by their names, in the order of the file. Throws StartError that names every file at fault. */
export function openRoutes(configs: SmsRouteConfig[]): Map<string, Route> {
  const faults: string[] = [];
  const routes = configs.map((config, at): [string, Route] => {
    const statuses: StatusOverrides = new Map(
      config.statuses.map(({ code, action, category }) => [code, { action, category }]),
    );
    const errors: ErrorOverrides = new Map(config.errors.map(({ code, category }) => [code, category]));
    const links = config.links.map((link, index) => linkSettings(link, `sms.routes[${at}].links[${index}]`, faults));
    return [config.name, { config, statuses, errors, links }];
  });
  if (faults.length > 0) throw new StartError(faults.join("\n"));
  return new Map(routes);
}

function linkSettings(link: SmsRouteConfig["links"][number], key: string, faults: string[]): LinkSettings {
  const { caFile, passwordFile, password, bind, rate, ...same } = link;
  return {
    ...LINK_DEFAULTS,
    ...same,
    tlsCa: caFile === null ? null : readAuthorities(caFile, key, faults),
    password: (passwordFile === null ? password : readPassword(passwordFile, key, faults)) ?? "",
    bindMode: bind,
    ratePerSecond: rate,
  };
}
