// A whole pombo with a route to an SMSC of its own process, and how tests text with it.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import type { Config } from "../../../src/config/config.ts";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { type Instance, type InstanceOptions, type Json, startInstance, type Workspace } from "../fakes/instance.ts";
import { type SmscHandle, startSmsc } from "../peers/smsc/client.ts";
import type { Change, Script } from "../peers/smsc/script.ts";
import { waitUntil } from "../peers/process.ts";
import { judge, type Run, type Verdict } from "./judge.ts";

const TO = "+258841234567";

type RouteConfig = Config["sms"]["routes"][number];

export interface TextWorld {
  instance: Instance;
  smsc: SmscHandle;
  /** Sends a text; its id. */
  text(body?: Record<string, unknown>, workspace?: Workspace): Promise<string>;
  show(id: string): Promise<Json>;
  /** Resolves with the text when it holds of it. */
  until(id: string, holds: (message: Json) => boolean): Promise<Json>;
  segments(): SegmentView[];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SegmentView {
  message_id: number;
  seq: number;
  state: string;
  route: string;
  attempts: number;
  resends: number;
  smsc_id: string | null;
  next_at: number;
}

export interface TextWorldOptions {
  script?: Change<Script>;
  route?: Partial<RouteConfig>;
  link?: Partial<RouteConfig["links"][number]>;
  /** After the route of the SMSC was made. */
  configure?: (config: Config, smscPort: number) => void;
  instance?: Omit<InstanceOptions, "configure">;
}

export function linkConfig(port: number, change: Partial<RouteConfig["links"][number]> = {}) {
  return {
    name: "vodacom-a",
    host: "127.0.0.1",
    port,
    tls: "none",
    tlsName: null,
    caFile: null,
    systemId: "loja",
    password: "segredo",
    passwordFile: null,
    systemType: "",
    bind: "transceiver",
    window: 10,
    rate: 10_000,
    responseTimeoutMs: 30_000,
    ...change,
  } as const;
}

/** The machine's clock, moved on as a test wishes; its timers stay real. */
export function shiftedClock(): Clock & { shift(ms: number): void } {
  let by = 0;
  return {
    now: () => systemClock.now() + by,
    after: (delayMs, run) => systemClock.after(delayMs, run),
    shift: (ms) => void (by += ms),
  };
}

/** One that runs faster than the machine's, and can be moved besides: for pauses of minutes. */
export function fastClock(speed = 20): Clock & { jump(ms: number): void } {
  const startedAt = systemClock.now();
  let by = 0;
  return {
    now: () => Math.floor(startedAt + (systemClock.now() - startedAt) * speed + by),
    after: (delayMs, run) => systemClock.after(delayMs / speed, run),
    jump: (ms) => void (by += ms),
  };
}

/** A second route with an SMSC of its own, which stands in. */
export function addStandIn(config: Config, port: number): void {
  const route = { ...defaultSmsRoute("other"), prefixes: ["25882"] };
  config.sms.routes.push({ ...route, links: [linkConfig(port, { name: "other-a" })] });
}

export async function startTexting(options: TextWorldOptions = {}): Promise<TextWorld> {
  const smsc = await startSmsc({ script: options.script ?? {} });
  const instance = await startInstance({
    ...options.instance,
    configure(config) {
      config.sms.routes = [
        { ...defaultSmsRoute("vodacom"), links: [linkConfig(smsc.port, options.link)], ...options.route },
      ];
      // What nobody wants to be told of is not kept.
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
      options.configure?.(config, smsc.port);
    },
  });
  await instance.enableSms(instance.workspace, CREDITS);
  const hook = { url: "http://127.0.0.1:9/", events: ["*"] };
  await instance.workspace.call("POST", "/api/v1/webhooks", { body: hook });
  const show = async (id: string) => (await instance.workspace.call("GET", `/api/v1/sms/${id}`)).body.data;
  return {
    instance,
    smsc,
    async text(body = {}, workspace = instance.workspace) {
      const answer = await workspace.call("POST", "/api/v1/sms", { body: { to: TO, body: "Olá", ...body } });
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body.data.id;
    },
    show,
    async until(id, holds) {
      let last: Json = null;
      try {
        await waitUntil("the text is so", 15_000, async () => holds((last = await show(id))));
      } catch (error) {
        const rows = JSON.stringify(segmentsOf(instance));
        throw new Error(`${String(error)}: ${JSON.stringify(last)} ${rows} ${JSON.stringify(instance.bugs)}`, {
          cause: error,
        });
      }
      return last;
    },
    segments: () => segmentsOf(instance),
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await smsc[Symbol.asyncDispose]();
    },
  };
}

const WINDOW = 10;
const CREDITS = 100_000;

/** Ends the world's pombo, and looks at all that must be true of it and its SMSCs; what is not. */
export async function judged(
  { instance, smsc }: TextWorld,
  accepted: string[],
  change: Partial<Run> = {},
): Promise<Verdict> {
  await instance.app.stop();
  using database = new Database(join(instance.directory, "pombo.db"), { readonly: true });
  const read = <T>(query: string) => database.query<T, []>(query).all();
  return await judge({ smscs: [smsc], read, accepted, window: WINDOW, credits: CREDITS, ...change });
}

function segmentsOf(instance: Instance): SegmentView[] {
  return instance.app.db.sqlite
    .query<SegmentView, []>(
      "SELECT message_id, seq, state, route, attempts, resends, smsc_id, next_at FROM sms_segment",
    )
    .all();
}
