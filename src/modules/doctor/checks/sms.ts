// The links to mobile networks.

import { bad, type Finding, ok, quote } from "../finding.ts";
import type { World } from "../world.ts";

export async function checkSms({ instance }: World): Promise<Finding[]> {
  const id = "sms_link";
  const byRoute = Map.groupBy(instance?.links ?? [], ({ route }) => route);
  return [...byRoute].map(([route, links]) => {
    const bound = links.filter(({ isBound }) => isBound).length;
    const why = links.find(({ lastEnd }) => lastEnd !== null)?.lastEnd ?? null;
    const seen = `${bound} of ${links.length} links of the route ${route} are bound${why === null ? "" : `; the last session ended: ${quote(why)}`}.`;
    if (bound === links.length) return ok(id, seen, { subject: route });
    return bad(id, bound === 0 ? "problem" : "warning", {
      subject: route,
      seen,
      step: `pombo sms links shows each; pombo sms test sends one message. Host, port, system_id and password of [[sms.routes]] ${route} must be as the network gave them, and it must let this address in.`,
    });
  });
}
