// A sending domain whose owner publishes what the API says, at a real name server.

import { formatZoneRecord, type ZoneRecord } from "../../../../src/protocols/dns/zone-file.ts";
import type { Bind } from "../../../support/peers/bind.ts";
import type { Api } from "../../../support/peers/pombo.ts";
import { type Records, SENDER_DOMAIN } from "./world.ts";

export interface Published {
  dkim: ZoneRecord[];
  records: Records;
}

export async function publishRecords(api: Api, bind: Bind): Promise<Published> {
  const created = await api.expect(201, "POST", "/api/v1/domains", { domain: SENDER_DOMAIN });
  const { dkim, spf, dmarc } = created.data.dns as { dkim: ZoneRecord[]; spf: ZoneRecord; dmarc: ZoneRecord };
  const records: Record<string, readonly string[]> = {};
  for (const { type, name, value } of [
    ...dkim,
    spf,
    { ...dmarc, value: `v=DMARC1; p=none; rua=mailto:dmarc@${SENDER_DOMAIN}` },
  ]) {
    const line = formatZoneRecord({ type, name, value: value.replace(/\.$/, "") });
    records[`${name} ${type}`] = [line.slice(line.indexOf(` IN ${type} `) + ` IN ${type} `.length)];
  }
  for (const [key, values] of Object.entries(records)) {
    const [name = "", type = ""] = key.split(" ");
    await bind.set(name, type, values);
  }
  const checked = await api.expect(200, "POST", `/api/v1/domains/${created.data.id}/verification-checks`);
  if (checked.data.verifiedAt === null) throw new Error(`not verified: ${JSON.stringify(checked.data)}`);
  return { dkim, records };
}
