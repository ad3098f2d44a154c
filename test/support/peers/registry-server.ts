/** `bun test/support/peers/registry-server.ts <file of its order>`: see registry.ts. */
import { readFileSync } from "node:fs";

export interface RegistryOrder {
  address: string;
  /** Of the registry itself. */
  host: string;
  certFile: string;
  keyFile: string;
  registered: Record<string, number>;
}

const order = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as RegistryOrder;

/** As RFC 9083 §5.3 shows it. */
function describeDomain(name: string, registeredAt: number): object {
  const at = new Date(registeredAt).toISOString();
  const day = 86_400_000;
  return {
    rdapConformance: ["rdap_level_0"],
    objectClassName: "domain",
    handle: "XXXX",
    ldhName: name,
    status: ["active"],
    nameservers: [{ objectClassName: "nameserver", ldhName: "ns1.example.com" }],
    entities: [{ objectClassName: "entity", handle: "292", roles: ["registrar"] }],
    events: [
      { eventAction: "last update of RDAP database", eventDate: new Date().toISOString() },
      { eventAction: "registration", eventDate: at },
      { eventAction: "expiration", eventDate: new Date(registeredAt + 365 * day).toISOString() },
    ],
  };
}

Bun.serve({
  hostname: order.address,
  port: 443,
  tls: { cert: readFileSync(order.certFile, "utf8"), key: readFileSync(order.keyFile, "utf8") },
  fetch(request) {
    const { hostname, pathname } = new URL(request.url);
    const name = /^\/domain\/([^/]+)$/.exec(pathname)?.[1] ?? "";
    if (hostname === "rdap.org") return Response.redirect(`https://${order.host}${pathname}`, 302);
    const registeredAt = order.registered[name];
    const headers = { "content-type": "application/rdap+json" };
    if (registeredAt === undefined)
      return Response.json({ errorCode: 404, title: "Not Found" }, { status: 404, headers });
    return Response.json(describeDomain(name, registeredAt), { headers });
  },
});
console.log("listens");
