// What is wrong with the machine, its hoster, its resolver and the lists: the fault is made, seen, and mended as the step says.

import type { FindingId } from "../../../../src/modules/doctor/catalog.ts";
import type { Level } from "../../../../src/modules/doctor/finding.ts";
import { atAnotherTime } from "../../../support/peers/chrony.ts";
import { mustRun, waitUntil } from "../../../support/peers/process.ts";
import type { Doctor, Lines, Settings } from "./kit.ts";
import { PLACES, SELF, setDefaultRoute, setNat, setPort25, setPortIn, setTcpToDns } from "./network.ts";
import {
  CLEAN_LIST,
  CLEAN_NAMES,
  EXIM_DOMAIN,
  LISTING,
  LISTS,
  NAME_LIST,
  REFUSING_LIST,
  RESOLVERS,
  SENDER_DOMAIN,
  type Servers,
  SPAMHAUS_KEY,
} from "./world.ts";

const FOUND_MS = 15_000;
/** A private one of this machine. */
const INNER = "10.0.0.7";

interface Outside {
  doctor: Doctor;
  lines: Lines;
  servers: Servers;
  hasTime: boolean;
  hasExim: boolean;
}

export async function checkOutside(outside: Outside): Promise<void> {
  const { lines } = outside;
  const parts: [string, (outside: Outside) => Promise<void>][] = [
    ["resolver", checkResolvers],
    ["address", checkAddress],
    ["port25_out", checkPort25],
    ["address behind NAT", checkNat],
    ["ports_in", checkPortsIn],
    ["blocklist", checkLists],
    ["clock", checkClock],
  ];
  for (const [name, work] of parts) {
    await work(outside).catch((error: unknown) => void lines.claim(name, false, () => String(error)));
  }
}

interface SettingsCase {
  id: FindingId;
  what: string;
  level: Level;
  broken: Settings;
}

/** The step names the lines of the configuration. */
async function checkSettings({ id, what, level, broken }: SettingsCase, { doctor, lines }: Outside): Promise<void> {
  const found = lines.expect(await doctor.lookBefore(broken, id), { id, level, what });
  const [, servers] = /\[dns\] servers = (\[.*?\])/.exec(found?.step ?? "") ?? [];
  if (found === null) return;
  const cure: Settings =
    servers === undefined
      ? { dns: { servers: [RESOLVERS.good] } }
      : { dns: { servers: JSON.parse(servers) as string[] } };
  const cured = await doctor.lookBefore(cure, id);
  lines.expect(cured, { id, level: "ok", what: `${what}, the step carried out`, isCure: true });
}

async function checkResolvers(outside: Outside): Promise<void> {
  const { doctor, lines } = outside;
  const { good, silent, liar, blind, noTcp } = RESOLVERS;
  const through = (...servers: string[]): Settings => ({ dns: { servers } });
  const cases: SettingsCase[] = [
    { id: "resolver_answers", what: "one of two is silent", level: "warning", broken: through(good, silent) },
    { id: "resolver_answers", what: "none answers", level: "problem", broken: through(silent) },
    { id: "resolver_honest", what: "a resolver that makes up addresses", level: "problem", broken: through(liar) },
    { id: "resolver_dnssec", what: "a resolver that does not validate", level: "warning", broken: through(blind) },
  ];
  for (const each of cases) await checkSettings(each, outside);
  const id = "resolver_tcp";
  await setTcpToDns(noTcp, false);
  lines.expect(await doctor.lookBefore(through(noTcp), id), { id, level: "problem", what: "a firewall against TCP" });
  lines.expect(await doctor.lookBefore(through(good, noTcp), id), {
    id,
    level: "warning",
    what: "one of two without TCP",
  });
  await setTcpToDns(noTcp, true);
  const cured = await doctor.lookBefore(through(noTcp), id);
  lines.expect(cured, { id, level: "ok", what: "TCP let out, as the step says", isCure: true });
}

async function checkAddress({ doctor, lines }: Outside): Promise<void> {
  const id = "address";
  await mustRun(["ip", "addr", "add", `${INNER}/32`, "dev", "lo"]);
  const behind = await doctor.lookBefore(
    { email: { allow_private_ranges: ["198.51.100.0/24"], source_ipv4: INNER } },
    id,
  );
  lines.expect(behind, { id, level: "unknown", what: "a private address, and nobody says what the world sees" });
  await mustRun(["ip", "addr", "del", `${INNER}/32`, "dev", "lo"]);
  await setDefaultRoute(false);
  lines.expect(await doctor.look(id), { id, level: "problem", what: "no default route" });
  await setDefaultRoute(true);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "a default route, as the step says", isCure: true });
  // What unbound did not find meanwhile it keeps for five seconds.
  const isFound = async () => (await doctor.look("port25_out")).findings.every(({ level }) => level === "ok");
  await waitUntil("the resolver finds names again", FOUND_MS, isFound);
}

/** Exim tells it; the address of others is what is looked at then. */
async function checkNat({ doctor, lines, hasExim }: Outside): Promise<void> {
  if (!hasExim) return;
  const id = "address";
  await mustRun(["ip", "addr", "add", `${INNER}/32`, "dev", "lo"]);
  await setNat(INNER, true);
  const told = await doctor.lookBefore(
    { email: { source_ipv4: INNER }, doctor: { probes: [EXIM_DOMAIN] } },
    "address,ptr",
  );
  const found = lines.expect(told, { id, level: "ok", what: "behind NAT, and a mail server says what it sees" });
  lines.claim(`${id}: it is the router's`, found?.seen.includes(SELF) ?? false, () => found?.seen ?? "");
  lines.expect(told, { id: "ptr", level: "ok", what: "of the router" });
  await setNat(INNER, false);
  await mustRun(["ip", "addr", "del", `${INNER}/32`, "dev", "lo"]);
}

async function checkPort25({ doctor, lines }: Outside): Promise<void> {
  const id = "port25_out";
  const toward = (...probes: string[]): Settings => ({ doctor: { probes } });
  const [open, closed, refusing] = ["receiver.example.com", "closed.example.com", "refusing-mx.example.com"];
  await setPort25(false);
  const blocked = lines.expect(await doctor.look(id), { id, level: "problem", what: "the hoster drops port 25" });
  const step = blocked?.step ?? "";
  lines.claim(
    `${id}: the ticket names the address`,
    step.includes(`open outgoing TCP port 25 for ${SELF}.`),
    () => step,
  );
  await setPort25(true);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "the hoster opens it", isCure: true });
  const relayed = await doctor.lookBefore(
    { email: { transport: "relay" }, relay: [{ host: "smtp.example.info", username: "a", password: "b" }] },
    id,
  );
  lines.claim(`${id}: with a relay nothing is asked of it`, relayed.findings.length === 0, () =>
    JSON.stringify(relayed),
  );
  const cases: [Level, string, Settings][] = [
    ["problem", "a port where nobody listens", toward(closed)],
    ["problem", "a mail server that refuses this address (554)", toward(refusing)],
    ["warning", "one of two refuses this address", toward(open, refusing)],
    ["unknown", "a domain without MX", toward("example.info")],
    ["ok", "a mail server that greets", toward(open)],
  ];
  for (const [level, what, settings] of cases) lines.expect(await doctor.lookBefore(settings, id), { id, level, what });
}

async function checkPortsIn({ doctor, lines }: Outside): Promise<void> {
  const id = "ports_in";
  const taken = lines.expect(await doctor.lookBefore({}, id), { id, level: "problem", what: "another program has it" });
  lines.claim(`${id}: it says who`, taken?.seen.includes("(it says “") ?? false, () => taken?.seen ?? "");
  const other = await doctor.lookBefore({ inbound: { listen: `${SELF}:2525` } }, id);
  lines.expect(other, { id, level: "ok", what: "another port, as the step says", isCure: true });
  await setPortIn(false);
  lines.expect(await doctor.look(id), { id, level: "problem", what: "a firewall of this machine" });
  lines.expect(await doctor.look("bounce_port"), {
    id: "bounce_port",
    level: "problem",
    what: "a firewall of this machine",
  });
  await setPortIn(true);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "the firewall opened, as the step says", isCure: true });
  const back = await doctor.look("bounce_port");
  lines.expect(back, { id: "bounce_port", level: "ok", what: "the firewall opened", isCure: true });
}

async function checkLists({ doctor, lines, servers: { lists } }: Outside): Promise<void> {
  const id = "blocklist";
  lists.set(LISTS.good, LISTING);
  lines.expect(await doctor.look(id), { id, level: "problem", what: "this address is listed" });
  lists.set(LISTS.good, CLEAN_LIST);
  lines.expect(await doctor.look(id), { id, level: "ok", what: "its removal, as the step says", isCure: true });
  const asking = (zone: string): Settings => ({ doctor: { block_lists: [zone] } });
  const troubles: [string, string][] = [
    [LISTS.world, "a list that lists the world"],
    [LISTS.dead, "a list whose servers are gone"],
    [LISTS.refusing, "a list that answers 127.255.255.254"],
  ];
  for (const [zone, what] of troubles)
    lines.expect(await doctor.lookBefore(asking(zone), id), { id, level: "unknown", what });
  lists.set(LISTS.good, REFUSING_LIST);
  const refused = lines.expect(await doctor.look(id), { id, level: "unknown", what: "Spamhaus refuses this resolver" });
  lines.claim(
    `${id}: it names the key`,
    refused?.step?.includes("[doctor] spamhaus_key") ?? false,
    () => refused?.step ?? "",
  );
  const keyed = await doctor.lookBefore({ doctor: { spamhaus_key: SPAMHAUS_KEY } }, id);
  lines.expect(keyed, { id, level: "ok", what: "with the key, as the step says", isCure: true });
  lists.set(LISTS.good, CLEAN_LIST);
  for (const [name, own] of [
    ["example.net", "blocklist_name"],
    [SENDER_DOMAIN, "domain_blocklist"],
  ] as const) {
    lists.set(NAME_LIST, { ...CLEAN_NAMES, entries: [...CLEAN_NAMES.entries, name] });
    lines.expect(await doctor.look(own), { id: own, level: "problem", what: `${name} is listed` });
    lists.set(NAME_LIST, CLEAN_NAMES);
    lines.expect(await doctor.look(own), { id: own, level: "ok", what: "its removal, as the step says", isCure: true });
  }
}

async function checkClock({ doctor, lines, hasTime }: Outside): Promise<void> {
  const id = "clock";
  const by = (server: string): Settings => ({ doctor: { time_server: server } });
  lines.expect(await doctor.lookBefore(by(PLACES.nobody), id), { id, level: "unknown", what: "nobody tells the time" });
  if (!hasTime) return;
  const wrong = lines.expect(await doctor.lookBefore(by("wrong-time.example.com"), id), {
    id,
    level: "problem",
    what: "an hour off",
  });
  lines.claim(
    `${id}: it is 3600 s behind`,
    /\b3(?:600|599)\.\d s behind/.test(wrong?.seen ?? ""),
    () => wrong?.seen ?? "",
  );
  // The clock of the whole machine is not ours to set: the library of faketime puts that of the doctor's process wrong.
  const right = by(PLACES.time);
  const late = await doctor.lookBefore(right, id, { env: atAnotherTime("-1m") });
  const seen = lines.expect(late, { id, level: "problem", what: "a clock that is a minute behind" });
  lines.claim(`${id}: its step sets the clock`, /^timedatectl set-ntp true$/m.test(seen?.step ?? ""), () =>
    JSON.stringify(seen),
  );
  const ahead = await doctor.lookBefore(right, id, { env: atAnotherTime("+10s") });
  lines.expect(ahead, { id, level: "warning", what: "a clock that is ten seconds ahead" });
  lines.expect(await doctor.lookBefore(right, id), { id, level: "ok", what: "set, as the step says", isCure: true });
}
