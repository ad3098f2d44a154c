// Checks the tables of `[sms]` against each other. A value may be undefined here: its own error was recorded.

import { canBothBegin, isCovered } from "./number-prefix.ts";
import type { SmsConfig, SmsLinkConfig, SmsRouteConfig } from "./sms.ts";
import type { ConfigError } from "./toml.ts";

const PASSWORD_VARIABLE = "POMBO_SMPP_PASSWORD";

/** A route or link with its key: sms.routes[0].links[1]. */
interface Placed<T> {
  value: T;
  key: string;
}

type Found<T> = { [Name in keyof T]: T[Name] | undefined };

/** Adds the one password that may come from the environment. */
export function completeSms(
  sms: SmsConfig | undefined,
  env: Record<string, string | undefined>,
  errors: ConfigError[],
): void {
  const given = env[PASSWORD_VARIABLE] ?? "";
  if (given === "") return;
  const needing = listLinks(sms).filter(({ value }) => value.password === null && value.passwordFile === null);
  if (needing.length > 1) {
    const found = `${needing.length} links without a password`;
    const expected = "at most one link without a password; give the others a password_file";
    errors.push({ key: `environment variable ${PASSWORD_VARIABLE}`, found, expected });
  }
  for (const { value } of needing) value.password = given;
}

export function checkSms(sms: SmsConfig | undefined, errors: ConfigError[]): void {
  const routes = listRoutes(sms);
  const links = listLinks(sms);
  for (const { value, key } of links) checkPassword(value, key, errors);
  const names = (placed: Placed<{ name: string | undefined }>[]) =>
    placed.map(({ value, key }) => ({ key: `${key}.name`, value: value.name }));
  checkUnique(names(routes), { a: "a name", other: "route" }, errors);
  checkUnique(names(links), { a: "a name", other: "link" }, errors);
  const prefixes = routes.flatMap(({ value, key }) =>
    listEntries(value.prefixes).map(([at, prefix]) => ({ key: `${key}.prefixes[${at}]`, value: prefix })),
  );
  checkUnique(prefixes, { a: "a prefix", other: "route" }, errors);
  const allowed = listEntries(sms?.prefixes).map(([, prefix]) => prefix);
  for (const prefix of prefixes) checkReach(prefix, allowed, errors);
  checkCovered(sms?.prefixes, errors);
  checkTakesOthers(routes, errors);
  for (const route of routes) {
    const { value, key } = route;
    if (value.links?.length === 0)
      errors.push({ key: `${key}.links`, found: "none", expected: "at least one [[sms.routes.links]]" });
    checkFailover(route, routes, errors);
    const senders = (value.senders ?? []).map(({ name }, at) => ({ key: `${key}.senders[${at}].name`, value: name }));
    checkUnique(senders, { a: "a sender id", other: "entry" }, errors);
    for (const rules of ["statuses", "errors"] as const) {
      const codes = (value[rules] ?? []).map(({ code }, at) => ({ key: `${key}.${rules}[${at}].code`, value: code }));
      checkUnique(codes, { a: "a code", other: "entry" }, errors);
    }
  }
}

/** The valid entries of a list, with their positions. */
function listEntries<T>(list: readonly (T | undefined)[] | undefined): [at: number, value: T][] {
  return (list ?? []).flatMap((value, at): [number, T][] => (value === undefined ? [] : [[at, value]]));
}

function listRoutes(sms: SmsConfig | undefined): Placed<Found<SmsRouteConfig>>[] {
  return (sms?.routes ?? []).map((value, at) => ({ value, key: `sms.routes[${at}]` }));
}

function listLinks(sms: SmsConfig | undefined): Placed<SmsLinkConfig>[] {
  return listRoutes(sms).flatMap(({ value, key }) =>
    (value.links ?? []).map((link, at) => ({ value: link, key: `${key}.links[${at}]` })),
  );
}

function checkPassword({ password, passwordFile }: Found<SmsLinkConfig>, key: string, errors: ConfigError[]): void {
  const isGiven = (value: string | null | undefined) => value !== null && value !== undefined;
  if (isGiven(password) && isGiven(passwordFile))
    errors.push({ key: `${key}.password_file`, found: "password as well", expected: "only one of the two" });
  if (password === null && passwordFile === null) {
    const expected = `password, password_file or the environment variable ${PASSWORD_VARIABLE}`;
    errors.push({ key: `${key}.password`, found: "nothing", expected });
  }
}

function checkUnique(
  placed: { key: string; value: string | number | undefined }[],
  words: { a: string; other: string },
  errors: ConfigError[],
): void {
  const taken = new Map<string | number, string>();
  for (const { key, value } of placed) {
    if (value === undefined) continue;
    const earlier = taken.get(value);
    if (earlier === undefined) taken.set(value, key);
    else {
      const expected = `${words.a} that no other ${words.other} has: ${earlier} is the same`;
      errors.push({ key, found: JSON.stringify(value), expected });
    }
  }
}

/** A prefix that no allowed number has is a typing error. */
function checkReach({ key, value }: { key: string; value: string }, allowed: string[], errors: ConfigError[]): void {
  if (allowed.some((prefix) => canBothBegin(value, prefix))) return;
  const named = allowed.map((prefix) => `+${prefix}`).join(", ");
  const expected = `the beginning of numbers that sms.prefixes allows (${named})`;
  errors.push({ key, found: JSON.stringify(value), expected });
}

/** An entry that changes nothing was meant to narrow another, which it does not. */
function checkCovered(prefixes: SmsConfig["prefixes"] | undefined, errors: ConfigError[]): void {
  const entries = listEntries(prefixes);
  for (const [at, prefix] of entries) {
    const wider = entries.find(
      ([other, each]) => other !== at && isCovered(prefix, each) && (other < at || !isCovered(each, prefix)),
    );
    if (wider === undefined) continue;
    const expected = `numbers that no other entry has: sms.prefixes[${wider[0]}] (+${wider[1]}) allows these too, remove one of the two`;
    errors.push({ key: `sms.prefixes[${at}]`, found: `"+${prefix}"`, expected });
  }
}

function checkTakesOthers(routes: Placed<Found<SmsRouteConfig>>[], errors: ConfigError[]): void {
  const [first, ...more] = routes.filter(({ value }) => value.prefixes?.length === 0);
  for (const { key } of more) {
    const expected = `prefixes of its own: ${first?.key ?? ""} has none as well, and only one may take all other numbers`;
    errors.push({ key: `${key}.prefixes`, found: "none", expected });
  }
}

/** Parts are cut once: a route may stand in for another only where it would have cut them alike. */
function checkFailover(
  { value: route, key }: Placed<Found<SmsRouteConfig>>,
  routes: Placed<Found<SmsRouteConfig>>[],
  errors: ConfigError[],
): void {
  for (const [at, name] of listEntries(route.failover)) {
    const place = `${key}.failover[${at}]`;
    const other = routes.find(({ value }) => value.name === name)?.value;
    if (other === undefined || name === route.name || route.failover?.indexOf(name) !== at) {
      const names = routes.flatMap(({ value }) => (value.name === undefined || value === route ? [] : [value.name]));
      const expected = names.length === 0 ? "another [[sms.routes]] of that name" : `once, one of: ${names.join(", ")}`;
      errors.push({ key: place, found: JSON.stringify(name), expected });
    } else if (getCut(route) !== getCut(other)) {
      const expected = `a route that cuts long texts as this one does: segmentation "udh16", shift_tables and default_charset must be the same on both`;
      errors.push({ key: place, found: JSON.stringify(name), expected });
    }
  }
}

/** udh8, sar and payload are cut alike, and know no other tables where there is no header. */
function getCut({ segmentation, shiftTables, defaultCharset }: Found<SmsRouteConfig>): string {
  return `${segmentation === "udh16"} ${shiftTables} ${defaultCharset}`;
}
