// A resolver as small routers have it: it asks another one, and passes on only the first string of a TXT record.

import dgram from "node:dgram";
import { once } from "node:events";
import { decode, encode } from "dns-packet";
import type { Cleanup } from "./process.ts";

const PORT = 53;

/** Over UDP only. */
export async function startCuttingResolver(options: {
  address: string;
  upstream: string;
  cleanup: Cleanup;
}): Promise<void> {
  const { address, upstream, cleanup } = options;
  const [inner, outer] = [dgram.createSocket("udp4"), dgram.createSocket("udp4")];
  const askers = new Map<number, dgram.RemoteInfo>();
  inner.on("message", (query, from) => {
    askers.set(query.readUInt16BE(0), from);
    outer.send(query, PORT, upstream);
  });
  outer.on("message", (answer) => {
    const asker = askers.get(answer.readUInt16BE(0));
    if (asker !== undefined) inner.send(cut(answer), asker.port, asker.address);
  });
  inner.bind(PORT, address);
  outer.bind(0);
  await Promise.all([once(inner, "listening"), once(outer, "listening")]);
  cleanup.add(() => {
    inner.close();
    outer.close();
  });
}

function cut(answer: Buffer): Buffer {
  const packet = decode(answer);
  const answers = (packet.answers ?? []).map((each) =>
    each.type === "TXT" && Array.isArray(each.data) ? { ...each, data: each.data.slice(0, 1) } : each,
  );
  return encode({ ...packet, answers });
}
