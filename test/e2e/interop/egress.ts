// Mail that leaves through SOCKS5 proxies of others, one sending domain for each: Dante, and microsocks with a
// password. Then Dante is killed at the worst moments, comes back, and refuses by its rules.

import { type Mx, startMx } from "../../support/fakes/mx.ts";
import type { Zone } from "../../support/fakes/zone.ts";
import { makeFolder, waitUntil, type Cleanup } from "../../support/peers/process.ts";
import { addDomain, type Api, type Body, createWorkspace, startPombo } from "../../support/peers/pombo.ts";
import { DANTE, MICROSOCKS, type Proxy, startDante, startMicrosocks } from "../../support/peers/socks5.ts";
import { serveZone } from "../../support/peers/zone.ts";
import type { Checks } from "./checks.ts";
import { waitForStatus } from "./delivery.ts";

export const EGRESS_TOOLS = [DANTE, MICROSOCKS];

const HOST = "pombo.test";
const MX_HOST = "mx.far.test";
/** Loopback addresses that tell the mail server which way a connection came. */
const DANTE_FROM = "127.0.0.9";
const MICROSOCKS_FROM = "127.0.0.10";
const WAIT_MS = 20_000;
const ACCOUNT = { username: "pombo", password: "vento # do norte" };

interface Scene {
  api: Api;
  mx: Mx;
  checks: Checks;
}

/** `isSmoke`: the ways alone, and one death. */
export async function checkEgress(options: { checks: Checks; cleanup: Cleanup; isSmoke: boolean }): Promise<void> {
  const { checks, cleanup, isSmoke } = options;
  const folder = makeFolder("egress", cleanup);
  const mx = await startMx({});
  cleanup.add(() => mx.close());
  const zone: Zone = {
    [HOST]: { A: ["127.0.0.1"] },
    "far.test": { MX: [[10, MX_HOST]] },
    [MX_HOST]: { A: ["127.0.0.1"] },
  };
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  let dante = await startDante({ folder, from: DANTE_FROM, cleanup });
  const microsocks = await startMicrosocks({ folder, from: MICROSOCKS_FROM, ...ACCOUNT, cleanup });
  const egress = (name: string, from: string, rest: Record<string, string>) => ({
    ...{ name, address: from, hostname: `${name}.pombo.test`, domains: [`by-${name}.test`] },
    ...rest,
  });
  const app = await startPombo({
    folder,
    hostname: HOST,
    cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      email: { destination_port: mx.port, allow_private_ranges: ["127.0.0.0/8"], retry_schedule: ["1s"] },
      inbound: { listen: "" },
      egress: [
        egress("dante", DANTE_FROM, { proxy: `socks5://127.0.0.1:${dante.port}` }),
        egress("microsocks", MICROSOCKS_FROM, {
          proxy: `socks5://${ACCOUNT.username}@127.0.0.1:${microsocks.port}`,
          password: ACCOUNT.password,
        }),
        egress("here", "127.0.0.1", {}),
      ],
    },
  });
  const api = await createWorkspace(app, "egress");
  for (const name of ["dante", "microsocks", "here"]) await addDomain(api, `by-${name}.test`, zone);
  const scene: Scene = { api, mx, checks };
  await checkWay(scene, "dante", DANTE_FROM);
  await checkWay(scene, "microsocks", MICROSOCKS_FROM);
  await checkWay(scene, "here", "127.0.0.1");

  const again = async (isClosed = false): Promise<Proxy> =>
    (dante = await startDante({ folder, from: DANTE_FROM, port: dante.port, isClosed, cleanup }));
  const deaths = [
    ["after the dot", "dot"],
    ["before the answer to RCPT", "rcpt"],
    ["in DATA", "content"],
  ] as const;
  for (const [when, step] of isSmoke ? deaths.slice(0, 1) : deaths) {
    await checks.group(`egress, Dante killed ${when}`, () =>
      checkKill(scene, { when, step, dante: () => dante, again }),
    );
  }
  if (!isSmoke)
    await checks.group("egress, Dante refuses", () => checkRules(scene, { dante: () => dante, again, app }));
  checks.claim("egress: the log shows no password", !app.process.output().includes(ACCOUNT.password));
}

async function checkWay({ api, mx, checks }: Scene, name: string, from: string): Promise<void> {
  const before = mx.connections.length;
  const id = await send(api, name);
  await waitForStatus(api, id, ["delivered"]);
  const [connection] = mx.connections.slice(before);
  const seen = [connection?.remoteAddress, connection?.commands[0]];
  checks.equal(`egress ${name}: the server meets its address and name`, seen, [from, `EHLO ${name}.pombo.test`]);
  checks.equal(`egress ${name}: the timeline names it`, (await eventsOf(api, id)).at(-1)?.egress, name);
}

interface Killing {
  dante: () => Proxy;
  again: (isClosed?: boolean) => Promise<Proxy>;
}

/** Nothing is lost, and nothing comes twice but what was in doubt. */
async function checkKill(
  { api, mx, checks }: Scene,
  { when, step, dante, again }: Killing & { when: string; step: "rcpt" | "content" | "dot" },
): Promise<void> {
  const name = `egress, Dante killed ${when}`;
  const before = mx.messages.length;
  let killed = false;
  mx.script[step] = () => {
    if (!killed) dante().kill();
    killed = true;
    return step === "content" ? { kind: "stall" } : "250 2.0.0 Ok";
  };
  const id = await send(api, "dante", step === "content" ? "x\n".repeat(45_000) : "Bom dia");
  await waitUntil("Dante is killed", WAIT_MS, () => killed);
  delete mx.script[step];
  // Over the session of an earlier message a second connection was tried, which found no proxy: then nothing is counted.
  const { attempts } = await waitForStatus(api, id, ["delivery_delayed", "queued"]);
  // The next attempt finds nobody either.
  await Bun.sleep(2_500);
  checks.equal(`${name}: while it is away no attempt is counted`, (await recordOf(api, id)).attempts, attempts);
  await again();
  const record = await waitForStatus(api, id, ["delivered"]);
  const isDoubtful = step === "dot";
  checks.equal(`${name}: marked only if it may have gone out`, record.possibleDuplicate, isDoubtful);
  checks.equal(`${name}: it arrives`, mx.messages.length - before, isDoubtful ? 2 : 1);
}

async function checkRules(
  { api, checks }: Scene,
  { dante, again, app }: Killing & { app: { process: { output(): string } } },
): Promise<void> {
  dante().kill();
  await dante().process.stop();
  await again(true);
  const id = await send(api, "dante");
  await waitUntil("the refusal is logged", WAIT_MS, () => app.process.output().includes("egress.refused"));
  const { status, attempts } = await recordOf(api, id);
  checks.equal("egress, Dante refuses: it waits without an attempt", [status, attempts], ["queued", 0]);
}

const recordOf = async (api: Api, id: string): Promise<Body> =>
  (await api.expect(200, "GET", `/api/v1/emails/${id}`)).data;
const eventsOf = async (api: Api, id: string): Promise<Body[]> =>
  (await api.expect(200, "GET", `/api/v1/emails/${id}/events`)).data;

async function send(api: Api, name: string, text = "Bom dia"): Promise<string> {
  const body = { from: `loja@by-${name}.test`, to: "maria@far.test", subject: "Olá", text };
  return (await api.expect(202, "POST", "/api/v1/emails", body)).data.id;
}
