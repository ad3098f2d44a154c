// The texting half of the interoperability run: one pombo with a route to each of several SMSCs that are not ours,
// all at once, and Kannel at our simulator beside it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { KANNEL } from "../../support/peers/kannel.ts";
import { NET_SMPP } from "../../support/peers/packages.ts";
import { createTextingWorkspace, logTail, startPombo, type PomboApp } from "../../support/peers/pombo.ts";
import type { Cleanup } from "../../support/peers/process.ts";
import { startJsmpp, type Jsmpp } from "../../support/peers/smscs/jsmpp.ts";
import { startExampleSmsc, startNpmSmsc, startPerlSmsc, type Place } from "../../support/peers/smscs/start.ts";
import type { Checks } from "./checks.ts";
import { checkKannel } from "./kannel-checks.ts";
import { checkJava, checkPeer, checkSilent, type FullPeer, type Peer } from "./sms-checks.ts";
import { MORE_TEXTS, TEXTS } from "./sms-samples.ts";

export const SMS_TOOLS = [NET_SMPP, KANNEL];
const HOST = "pombo.test";
const CREDITS = 10_000;

/** `isSmoke`: without the long tail of samples, and without Java. */
export async function checkSms(options: {
  folder: string;
  checks: Checks;
  cleanup: Cleanup;
  isSmoke: boolean;
}): Promise<void> {
  const { checks, cleanup, isSmoke } = options;
  const folder = join(options.folder, "sms");
  mkdirSync(folder);
  const place = { folder, cleanup };
  const peers = await startPeers(place);
  const example = {
    name: "Net::SMPP's example",
    smsc: await startExampleSmsc(place),
    prefix: "25885",
    route: { receipts: "none" },
    link: {},
  };
  const java = isSmoke ? null : await startJava(place);
  const app = await startTextingPombo(folder, [...peers, example, ...(java === null ? [] : [java])], cleanup);
  const api = await createTextingWorkspace(app, ["Loja", ...peers.map(({ code }) => code)], CREDITS);
  const shared = { api, app, checks, samples: isSmoke ? TEXTS : [...TEXTS, ...MORE_TEXTS] };
  const parts: [string, () => Promise<void>][] = [
    ...peers.map((peer): [string, () => Promise<void>] => [peer.name, () => checkPeer(peer, shared)]),
    [example.name, () => checkSilent(example, shared)],
    ["Kannel", () => checkKannel({ folder, checks, cleanup })],
  ];
  if (java !== null) parts.push([java.name, () => checkJava(java, shared)]);
  await Promise.all(parts.map(([name, work]) => checks.group(name, work)));
  if (checks.hasFailed) console.error(`the end of the log of the pombo that texts:\n${logTail(app)}`);
}

async function startPeers(place: Place): Promise<FullPeer[]> {
  const [npm, perl, pair] = await Promise.all([
    startNpmSmsc(place),
    startPerlSmsc("counter", place),
    startPerlSmsc("constant", place),
  ]);
  const usual = { route: {}, link: {}, ids: "decimal_to_hex" } as const;
  return [
    { ...usual, name: "npm smpp", smsc: npm, prefix: "25882", code: "82000" },
    { ...usual, name: "Net::SMPP", smsc: perl, prefix: "25883", code: "83000" },
    {
      ...usual,
      name: "Net::SMPP, one id",
      smsc: pair,
      prefix: "25884",
      code: "84000",
      link: { bind: "pair" },
      ids: null,
    },
  ];
}

async function startJava(place: Place): Promise<Peer<Jsmpp> | null> {
  const jsmpp = await startJsmpp(place);
  if (typeof jsmpp === "string") {
    console.log(`NOT RUN jSMPP: ${jsmpp}`);
    return null;
  }
  const { systemId: system_id, password } = jsmpp.account;
  return { name: "jSMPP", smsc: jsmpp, prefix: "25886", route: {}, link: { system_id, password } };
}

/** A pombo with a route to each. */
async function startTextingPombo(folder: string, peers: Peer<{ port: number }>[], cleanup: Cleanup): Promise<PomboApp> {
  const routes = peers.map(({ prefix, smsc, route, link }) => {
    const usual = {
      host: "127.0.0.1",
      port: smsc.port,
      tls: "none",
      system_id: "loja",
      password: "segredo",
      rate: 1000,
    };
    return {
      name: `to-${prefix}`,
      prefixes: [prefix],
      ...route,
      links: [{ name: `link-${prefix}`, ...usual, ...link }],
    };
  });
  return startPombo({ folder, hostname: HOST, settings: { sms: { routes } }, cleanup });
}
