// An instance whose mail arrives: what people are sent is read at their mail server.

import { startFakeDns } from "../fakes/dns-server.ts";
import { startMx } from "../fakes/mx.ts";
import { type PomboApp, startPombo, type TomlTable } from "../peers/pombo.ts";
import { type Cleanup, makeFolder, waitUntil } from "../peers/process.ts";

const HOSTNAME = "mail.pombo.test";
const ARRIVAL_TIMEOUT_MS = 20_000;

export interface Mailing {
  readonly app: PomboApp;
  /** As browsers reach it. */
  readonly url: string;
  readonly operatorKey: string;
  readonly folder: string;
  /** The newest link to this page of the dashboard that was mailed to the address, once there are so many. */
  readLink(address: string, page: string, count?: number): Promise<string>;
}

/** `settings` are tables of its configuration file, beside its own. */
export async function startMailing(cleanup: Cleanup, settings: TomlTable = {}): Promise<Mailing> {
  const mx = await startMx();
  cleanup.add(() => mx.close());
  const dns = await startFakeDns({
    "example.com": { MX: [[10, "mx.example.com"]] },
    "mx.example.com": { A: ["127.0.0.1"] },
  });
  cleanup.add(() => dns.close());
  const folder = makeFolder("mailing", cleanup);
  const app = await startPombo({
    folder,
    hostname: HOSTNAME,
    settings: {
      dns: { servers: [dns.address] },
      email: { destination_port: mx.port, allow_private_ranges: ["127.0.0.0/8"] },
      dashboard: { from: `pombo@${HOSTNAME}`, magic_links: true },
      ...settings,
    },
    cleanup,
  });
  const listLinks = (address: string, page: string) =>
    mx.messages
      .filter(({ to }) => to.includes(address))
      .map(({ content }) => String(content).replaceAll("=\r\n", "").replaceAll("=3D", "="))
      .flatMap((text) => new RegExp(`http\\S+/dashboard/${page}#[\\w-]{43}`).exec(text) ?? []);
  return {
    app,
    url: `http://localhost:${app.port}`,
    operatorKey: app.operatorKey,
    folder,
    async readLink(address, page, count = 1) {
      await waitUntil(`mail to ${address}`, ARRIVAL_TIMEOUT_MS, () => listLinks(address, page).length >= count);
      return listLinks(address, page).at(-1) ?? "";
    },
  };
}
