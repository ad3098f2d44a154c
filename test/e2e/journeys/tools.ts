// Brings what the journeys need of this machine. Exit code 2: it is missing and cannot be brought.

import { CERTUTIL, CHROMIUM } from "../../support/browser/chromium.ts";
import { ensureTools, isMissing } from "../../support/peers/packages.ts";

const missing = [CHROMIUM, CERTUTIL].filter(isMissing);
const trouble = missing.length > 0 ? await ensureTools(missing) : null;
if (trouble !== null) {
  console.error(trouble);
  process.exit(2);
}
