// For each finding the world in which it is ok, and those in which it is not.

import type { FindingId } from "../../../src/modules/doctor/catalog.ts";
import { DOMAIN_CASES } from "./cases/domains.ts";
import { WORLD_CASES } from "./cases/world.ts";
import { HOST_CASES } from "./cases/host.ts";
import { INSTANCE_CASES } from "./cases/instance.ts";
import { PROVIDER_CASES } from "./cases/providers.ts";
import { SMS_CASES } from "./cases/sms.ts";
import type { Case } from "./cases/kit.ts";

export const CASES: Record<FindingId, Case[]> = {
  ...HOST_CASES,
  ...WORLD_CASES,
  ...PROVIDER_CASES,
  ...INSTANCE_CASES,
  ...DOMAIN_CASES,
  ...SMS_CASES,
};
