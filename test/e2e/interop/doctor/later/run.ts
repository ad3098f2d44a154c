// What only time shows: the order of the days, each with its faults and the steps that were carried out by then.

import type { Cleanup } from "../../../../support/peers/process.ts";
import type { Lines } from "../kit.ts";
import { RESOLVERS, SENDER_DOMAIN, type Servers } from "../world.ts";
import { expectOwnAuthority, ownCertificate } from "./certificate-checks.ts";
import { checkAgeing, checkCutting, expectCured } from "./domain-checks.ts";
import { breakDisk, checkDiskSpace, mendDisk } from "./disk-checks.ts";
import { linksTo, startLater } from "./instance.ts";
import { complain, expectGoodMail, expectRefusals, fillVolume, refuseWords, sendFirst } from "./mail-checks.ts";
import { expectBound, expectCredits, expectLateReceipts, expectUnbound, removeSender, text } from "./sms-checks.ts";

const FEW_TEXTS = 25;
/** With those few they are enough for four fifths to have a receipt. */
const MANY_TEXTS = 110;

/** No other instance runs. */
export async function checkLater(options: {
  folder: string;
  lines: Lines;
  servers: Servers;
  cleanup: Cleanup;
}): Promise<void> {
  const later = await startLater(options);
  const { doctor, lines, smsc } = later;
  // The first day: a young domain, a wrong password, a slow disk, complaints.
  const age = await doctor.look("domain_age", ["--rdap"]);
  lines.expect(age, { id: "domain_age", level: "warning", what: "registered three days ago", subject: SENDER_DOMAIN });
  await expectUnbound(later);
  await sendFirst(later);
  await complain(later);
  const isSlow = await breakDisk(later);
  await later.restart("+1m", { sms: linksTo(smsc.port) });
  await expectBound(later);
  await text(later, FEW_TEXTS, false);
  await fillVolume(later);
  if (isSlow) await mendDisk(later);
  await expectRefusals(later);

  await later.restart("+2h", { dns: { servers: [RESOLVERS.cutting] } });
  const resolver = await checkCutting(later);
  await expectLateReceipts(later, "warning");
  await smsc.script({ receipts: { states: ["DELIVRD"] } });
  await text(later, MANY_TEXTS, true);

  await later.restart("+4h", { dns: { servers: resolver } });
  await expectCured(later, "resolver_txt", "a resolver of one's own, as the step says");
  await expectLateReceipts(later, "ok");
  await expectCredits(later);

  await later.restart("+2d", await ownCertificate(later));
  await expectOwnAuthority(later);
  await checkDiskSpace(later);
  await refuseWords(later);

  await later.restart("+10d");
  await expectGoodMail(later);

  await later.restart("+50d");
  await checkAgeing(later);
  await removeSender(later);
}
