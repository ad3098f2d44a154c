// An instance whose submission ports are open, and programs that hand in mail there saying exactly what they are told to.

import { expect } from "bun:test";
import type { Config } from "../../../src/config/config.ts";
import { freePort } from "../peers/process.ts";
import type { FakeClock } from "../fakes/clock.ts";
import { type Instance, type InstanceOptions, type Json, startInstance } from "../fakes/instance.ts";
import { type HeldInstance, startHeld } from "../api/kit.ts";
import { NOON } from "../api/one-email.ts";
import { openTalk, type Talk } from "../inbound/kit.ts";
import { passwordOf } from "./wire.ts";

type Options = Omit<InstanceOptions, "clock">;

/** How TLS begins. */
export type Mode = "starttls" | "implicit";

/** With both kinds of ports. */
async function withPorts({ configure, ...options }: Options): Promise<Options> {
  const port = await freePort();
  return {
    ...options,
    configure(config: Config) {
      config.submission.listen = [{ address: "127.0.0.1", port: 0 }];
      config.submission.listenTls = [{ address: "127.0.0.1", port }];
      configure?.(config);
    },
  };
}

export async function startSubmitting(options: Options = {}): Promise<Instance> {
  return startInstance(await withPorts(options));
}

/** Its time stands still. */
export async function startHeldSubmitting(options: Options = {}): Promise<HeldInstance> {
  return startHeld(NOON, await withPorts(options));
}

export function portOf({ app, config }: Instance, mode: Mode = "starttls"): number {
  return mode === "implicit" ? (config.submission.listenTls[0]?.port ?? 0) : Number(app.submission[0]?.split(":")[1]);
}

/** A client over TLS that has said EHLO. */
export async function openSecure(port: number, mode: Mode = "starttls"): Promise<Talk> {
  if (mode === "implicit") {
    const talk = await openTalk(port, { hears: false });
    await talk.secure();
    expect(await talk.reply()).toStartWith("220 ");
    await talk.say("EHLO client.test");
    return talk;
  }
  const talk = await openTalk(port);
  await talk.say("EHLO client.test");
  expect(await talk.say("STARTTLS")).toStartWith("220 ");
  await talk.secure();
  await talk.say("EHLO client.test");
  return talk;
}

/** The same, and it has authenticated. */
export async function openClient(
  pombo: Instance,
  { key = pombo.workspace.key, mode = "starttls" }: { key?: string; mode?: Mode } = {},
): Promise<Talk> {
  const talk = await openSecure(portOf(pombo, mode), mode);
  expect(await talk.say(`AUTH PLAIN ${passwordOf(key)}`)).toStartWith("235 ");
  return talk;
}

/** The ids of the emails of a group, in the order to, cc, bcc; or the one. */
export async function idsOf({ workspace }: Instance, id: string): Promise<string[]> {
  const { body } = await workspace.call("GET", `/api/v1/emails/${id}`);
  const recipients: Json[] | null = body.data.recipients;
  return recipients === null ? [id] : recipients.map((each) => each.id as string);
}

/** Advances the clock step by step until `isSo`, with turns of the event loop between. */
export async function passUntil(clock: FakeClock, what: string, isSo: () => boolean, stepMs = 100): Promise<void> {
  for (let step = 0; step < 10_000; step += 1) {
    if (isSo()) return;
    clock.advance(stepMs);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error(`it took too long: ${what}`);
}

/** Octets of a message that the fake server got, one character each. */
export function contentAt({ mx }: Instance, index = -1): string {
  return mx.messages.at(index)?.content.toString("latin1") ?? "";
}
