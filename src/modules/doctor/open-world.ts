// Opens the world of one run: its DNS, its sockets, and what is looked for once.

import { isRefusedAddress, parseRanges } from "../../platform/ip/address.ts";
import { probeServer } from "../../protocols/dns/probe.ts";
import { createRunResolver } from "./run-resolver.ts";
import { findProbed, findSending } from "./sending.ts";
import { talkSmtp } from "./smtp-probe.ts";
import type { DoctorConfig, Outside, RunWish, World } from "./world.ts";

const SERVER_MS = 2_000;
const SMTP_MS = 5_000;

/** Asks each DNS server first whether it answers, so that a dead one is not waited for with every question. */
export async function openWorld(config: DoctorConfig, outside: Outside, wish: RunWish): Promise<World> {
  const { random, steady } = outside;
  const { signal } = wish;
  const ask: World["ask"] = (server, question) => {
    const id = Buffer.from(random.bytes(2)).readUInt16BE(0);
    return probeServer(server, { ...question, id }, { clock: steady, timeoutMs: SERVER_MS, signal });
  };
  const firstAnswers = await Promise.all(
    outside.servers().map((server) => ask(server, { name: ".", type: "NS", transport: "udp" })),
  );
  const alive = firstAnswers.findIndex(({ kind }) => kind === "answered");
  const resolver = outside.fresh(Math.max(0, alive));
  const dns = createRunResolver({
    resolver,
    signal,
    isMute: alive < 0,
    limit: wish.questions,
  });
  const allowed = parseRanges(config.email.allowPrivateRanges);
  const once = <T>(find: () => Promise<T>) => {
    let found: Promise<T> | null = null;
    return () => (found ??= find());
  };
  const world: World = {
    ...outside,
    ...wish,
    config,
    dns,
    firstAnswers,
    ask,
    talk: ({ address, port }, commands, from) =>
      talkSmtp({ address, port, commands, ...from, clock: steady, timeoutMs: SMTP_MS, signal }),
    isPublic: (address) => isRefusedAddress(address, allowed) === null,
    probed: once(() => findProbed(world)),
    sending: once(() => findSending(world)),
  };
  return world;
}
