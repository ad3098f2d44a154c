// The headers under which the dashboard's pages and files are served.

import { MESSAGE_POLICY } from "../modules/emails/preview/page.ts";

/** Nothing inline, nothing from elsewhere, no text that becomes markup or script. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** What the pages never use; passkeys are all that they do. */
const DENIED_FEATURES = (
  "accelerometer autoplay camera display-capture encrypted-media fullscreen geolocation gyroscope hid " +
  "identity-credentials-get idle-detection local-fonts magnetometer microphone midi payment picture-in-picture " +
  "screen-wake-lock serial usb xr-spatial-tracking"
)
  .split(" ")
  .map((feature) => `${feature}=()`);
const PASSKEYS = ["publickey-credentials-create=(self)", "publickey-credentials-get=(self)"];
const PERMISSIONS = [...DENIED_FEATURES, "clipboard-write=(self)", ...PASSKEYS].join(", ");

const TWO_YEARS_S = 63_072_000;

export function buildHeaders(isHttps: boolean): Record<string, string> {
  return {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": PERMISSIONS,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(isHttps ? { "strict-transport-security": `max-age=${TWO_YEARS_S}` } : {}),
  };
}

/** Of a message's html in its frame. */
export const PREVIEW_HEADERS = {
  "content-security-policy": MESSAGE_POLICY,
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
};
