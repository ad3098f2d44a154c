// Mail that programs hand in by SMTP: pombo with its submission ports, each program in turn, and the MX where all of it
// arrives.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Zone } from "../../../support/fakes/zone.ts";
import { makeCertificate } from "../../../support/peers/authority.ts";
import { OPENDKIM, POSTFIX, SASL, SWAKS } from "../../../support/peers/packages.ts";
import {
  addDomain,
  type Api,
  createWorkspace,
  findPombo,
  logTail,
  type PomboApp,
  startPombo,
} from "../../../support/peers/pombo.ts";
import { freePort, waitForListener, type Cleanup } from "../../../support/peers/process.ts";
import { serveZone, withKeyFile } from "../../../support/peers/zone.ts";
import type { Checks } from "../checks.ts";
import { MX_DOMAIN, MX_HOST, startMx, type Mx } from "../mx.ts";
import { startCuttingProxy } from "./cutting-proxy.ts";
import { checkLostReply, HOLD_AFTER_BYTES, LOST_REPLY_USERS } from "./lost-reply.ts";
import { SENDER_DOMAIN, usersOf, writeAttachment } from "./messages.ts";
import { checkPeer } from "./peer-checks.ts";
import { PEERS, type Mode, type Server } from "./peers.ts";
import { postfixPeer, startPostfixClient } from "./postfix-client.ts";
import { checkRefused } from "./refusals.ts";

export const SUBMISSION_TOOLS = [POSTFIX, OPENDKIM, SWAKS, SASL];
const POMBO_HOST = "pombo.test";
/** A name that every program finds, and that pombo's certificate has. */
const SERVER_HOST = "localhost";
const POSTFIX_ID = "by-postfix";

export interface World {
  folder: string;
  app: PomboApp;
  api: Api;
  mx: Mx;
  zone: Zone;
  servers: Record<Mode, Server>;
  checks: Checks;
}

/** The short form: nodemailer, smtplib, swaks, and Postfix. */
export async function checkSubmission(options: {
  folder: string;
  checks: Checks;
  cleanup: Cleanup;
  isSmoke: boolean;
}): Promise<void> {
  const { checks, cleanup, isSmoke } = options;
  const folder = join(options.folder, "submission");
  mkdirSync(folder);
  writeAttachment(folder);
  console.log(`app: ${findPombo().what}`);
  const world = await startWorld(folder, checks, cleanup);
  const { api, mx, servers } = world;
  const proxy = await startCuttingProxy({ port: servers.starttls.port, holdAfter: HOLD_AFTER_BYTES });
  cleanup.add(() => proxy.close());
  const client = await startPostfixClient({ folder, servers, cutPort: proxy.port, cleanup });
  const programs = PEERS.filter((peer) => peer.isSmoke === true || !isSmoke);
  await Promise.all([
    (async () => {
      for (const peer of programs) await checks.group(peer.name, () => checkPeer(peer, world));
    })(),
    (async () => {
      await checks.group("Postfix", () => checkPeer(postfixPeer(client, POSTFIX_ID), world));
      await checks.group("Postfix, the 250 is lost", () => checkLostReply({ folder, api, mx, checks, client, proxy }));
      await checks.group("refused", () => checkRefused({ folder, api, server: servers.starttls, checks, isSmoke }));
    })(),
  ]);
  if (checks.hasFailed) console.error(`the end of the log of the pombo that takes mail:\n${logTail(world.app)}`);
}

async function startWorld(folder: string, checks: Checks, cleanup: Cleanup): Promise<World> {
  const keyFile = join(folder, "dkim-keys");
  const zone = withKeyFile(
    {
      [POMBO_HOST]: { A: ["127.0.0.1"] },
      [MX_DOMAIN]: { MX: [[10, MX_HOST]] },
      [MX_HOST]: { A: ["127.0.0.1"] },
    },
    keyFile,
  );
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const users = [...PEERS.flatMap(({ id }) => usersOf(id)), ...usersOf(POSTFIX_ID), ...LOST_REPLY_USERS];
  const mx = await startMx({
    ...{ folder, keyFile, users, others: [], otherDomains: [], services: () => "" },
    reports: { hosts: [], port: await freePort() },
    cleanup,
  });
  const certificate = await makeCertificate(folder, [POMBO_HOST, SERVER_HOST]);
  const ports = { starttls: await freePort(), implicit: await freePort() };
  const app = await startPombo({
    folder,
    hostname: POMBO_HOST,
    cleanup,
    settings: {
      tls: { certificate_file: certificate.certFile, key_file: certificate.keyFile },
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      email: { destination_port: mx.port, allow_private_ranges: ["127.0.0.0/8"], retry_schedule: ["2s", "5s"] },
      submission: { listen: [`127.0.0.1:${ports.starttls}`], listen_tls: [`127.0.0.1:${ports.implicit}`] },
    },
  });
  await Promise.all(Object.values(ports).map((port) => waitForListener(port)));
  const api = await createWorkspace(app, "submission");
  await addDomain(api, SENDER_DOMAIN, zone);
  const server = (mode: Mode): Server => ({
    ...{ host: SERVER_HOST, port: ports[mode], mode, caFile: certificate.caFile },
    ...{ username: "pombo", password: api.key },
  });
  return {
    ...{ folder, app, api, mx, zone, checks },
    servers: { starttls: server("starttls"), implicit: server("implicit") },
  };
}
