// An egress of the world that the doctor looks at, well in DNS: its proxy does as it is told.

import type { EgressConfig } from "../../../src/config/egress.ts";
import { type Socks5Script, startSocks5 } from "../fakes/socks5.ts";
import { type DoctorWorld, HOST, IPV4, IPV6 } from "./world.ts";

export const EGRESS: EgressConfig = {
  ...{ name: "lisbon", address: "203.0.113.9", hostname: "mail2.pombo.test", proxy: null, share: 1 },
  ...{ password: null, passwordFile: null, domains: ["outra.example"] },
};
export const EGRESS_PTR = "9.113.0.203.in-addr.arpa";

/** The proxy ends with the world. */
export async function addEgress(world: DoctorWorld, script: Socks5Script): Promise<void> {
  const proxy = await startSocks5(script);
  world.endings.push(() => proxy.stop());
  world.config.egress = [{ ...EGRESS, proxy: { address: "127.0.0.1", port: proxy.port, username: null } }];
  const { address, hostname } = EGRESS;
  Object.assign(world.dns.zone, {
    [hostname]: { A: [address], TXT: [`v=spf1 ip4:${address} -all`] },
    [EGRESS_PTR]: { PTR: [hostname] },
    [HOST]: { ...world.dns.zone[HOST], TXT: [`v=spf1 ip4:${IPV4} ip6:${IPV6} ip4:${address} -all`] },
  });
}
