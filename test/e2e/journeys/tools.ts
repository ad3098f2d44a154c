// Brings what the journeys need of this machine. Exit code 2: it is missing and cannot be brought.

import { CHROMIUM } from "../../support/browser/chromium.ts";
import { ensureTools, isMissing } from "../../support/peers/packages.ts";

const trouble = isMissing(CHROMIUM) ? await ensureTools([CHROMIUM]) : null;
if (trouble !== null) {
  console.error(trouble);
  process.exit(2);
}
