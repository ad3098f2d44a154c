import { expect, test } from "bun:test";
import { clientNetwork, noteArrival } from "../../../../src/platform/http/client-address.ts";
import { parseRanges } from "../../../../src/platform/ip/address.ts";

const NOBODY = parseRanges([]);
const PROXIES = parseRanges(["10.0.0.0/8", "fd00::/8", "127.0.0.1"]);

/** The client of a request that came from `peer` with this header. */
function clientOf(peer: string | null, forwarded: string | string[] | null, trusted = PROXIES): string | null {
  const headers = new Headers();
  for (const line of [forwarded ?? []].flat()) headers.append("x-forwarded-for", line);
  const request = new Request("http://localhost/", { headers });
  noteArrival(request, { requestIP: () => (peer === null ? null : { address: peer }) });
  return clientNetwork(request, trusted);
}

test("without a trusted proxy it is the other end of the connection, whatever a header says", () => {
  expect(clientOf("192.0.2.7", null)).toBe("192.0.2.7");
  expect(clientOf("192.0.2.7", "198.51.100.1")).toBe("192.0.2.7");
  expect(clientOf("10.0.0.1", "198.51.100.1", NOBODY)).toBe("10.0.0.1");
  expect(clientOf("::ffff:192.0.2.7", null)).toBe("192.0.2.7");
  expect(clientOf("2001:db8:1:2:3:4:5:6", null)).toBe("2001:db8:1:2::/64");
  expect(clientOf("fe80::1%eth0", null)).toBe("fe80:0:0:0::/64");
});

test.each<[forwarded: string | string[], client: string, why: string]>([
  ["192.0.2.7", "192.0.2.7", "the proxy's client"],
  ["198.51.100.1, 192.0.2.7", "192.0.2.7", "what a stranger put before it is not read"],
  ["198.51.100.1, 192.0.2.7, 10.9.9.9", "192.0.2.7", "a second proxy of ours is skipped"],
  [["198.51.100.1", "192.0.2.7, 10.9.9.9", "fd00::1"], "192.0.2.7", "several headers are one"],
  ["10.1.1.1, 10.9.9.9", "10.1.1.1", "all are ours: the first of them"],
  ["2001:db8:1:2::7", "2001:db8:1:2::/64", "IPv6 by its /64"],
  ["::ffff:192.0.2.7", "192.0.2.7", "a mapped address is the one inside"],
  ["192.0.2.7:4711", "192.0.2.7", "with a port"],
  ["[2001:db8:1:2::7]:4711", "2001:db8:1:2::/64", "IPv6 with a port"],
  ["[2001:db8:1:2::7]", "2001:db8:1:2::/64", "in brackets"],
  [" 192.0.2.7 ,\t10.9.9.9 ", "192.0.2.7", "white space"],
  ["192.0.2.7,, ,", "192.0.2.7", "empty elements are none"],
  ["unknown", "10.0.0.1", "no address: the proxy that said so"],
  ["192.0.2.7, unknown", "10.0.0.1", "what stands before garbage is not believed"],
  ["192.0.2.7, garbage, 10.9.9.9", "10.9.9.9", "the last believable one"],
  ["192.0.2.7%eth0", "10.0.0.1", "a zone is not for strangers to name"],
  ["192.0.2.7:x", "10.0.0.1", "a port that is none"],
  ["[192.0.2.7", "10.0.0.1", "half a bracket"],
  ["192.0.2", "10.0.0.1", "a short form"],
  ["", "10.0.0.1", "nothing in it"],
  [", ,", "10.0.0.1", "only commas"],
  [`${"10.0.0.2,".repeat(500)}10.0.0.2`, "10.0.0.2", "hundreds of hops"],
  [`${"x".repeat(5_000)}, 192.0.2.7`, "192.0.2.7", "a long text before it"],
])("behind a trusted proxy %p is %s: %s", (forwarded, client) => {
  expect(clientOf("10.0.0.1", forwarded)).toBe(client);
});

test("a proxy that is called by a mapped address is trusted by its own", () => {
  expect(clientOf("::ffff:127.0.0.1", "192.0.2.7")).toBe("192.0.2.7");
});

test("only so many hops are followed", () => {
  const hops = (count: number) => `192.0.2.7${", 10.0.0.2".repeat(count)}`;
  expect(clientOf("10.0.0.1", hops(19))).toBe("192.0.2.7");
  expect(clientOf("10.0.0.1", hops(20))).toBe("10.0.0.2");
});

test("on a Unix socket, or of a request that came over none, there is no address", () => {
  expect(clientOf(null, "192.0.2.7")).toBeNull();
  expect(clientNetwork(new Request("http://localhost/"), PROXIES)).toBeNull();
});

test("a request that goes on as another is asked for as it came", () => {
  const came = new Request("http://api/");
  const handled = new Request("http://localhost/", came);
  const asked: Request[] = [];
  const peers = {
    requestIP(request: Request) {
      asked.push(request);
      return { address: "192.0.2.7" };
    },
  };
  noteArrival(came, peers, handled);
  expect(clientNetwork(handled, NOBODY)).toBe("192.0.2.7");
  expect(asked[0]).toBe(came);
});
