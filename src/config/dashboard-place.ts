// Where people open the dashboard, as links to it say.

import { AppError } from "../platform/errors.ts";
import type { HostPort } from "../platform/ip/address.ts";
import type { Config } from "./config.ts";

interface DashboardPlace {
  /** As `https://mail.example.net`: links begin so. */
  origin: string;
  /** The command that brings it to another machine; null: it is reached from everywhere. */
  tunnel: string | null;
}

type PlaceConfig = Pick<Config, "dashboard" | "http" | "hostname">;

/** Without `[dashboard] url` only this machine reaches it, at this port; null: that is chosen when pombo starts. */
export function findDashboard(
  { dashboard, http, hostname }: PlaceConfig,
  port = http.listen.port,
): DashboardPlace | null {
  if (dashboard.url !== null) return { origin: dashboard.url, tunnel: null };
  return port === 0 ? null : localDashboard({ ...http.listen, port }, hostname);
}

/** The same; throws UNAVAILABLE while nobody knows the port. */
export function requireDashboard(config: PlaceConfig, port: number): DashboardPlace {
  const place = findDashboard(config, port);
  if (place !== null) return place;
  throw new AppError("UNAVAILABLE", "The dashboard gets its port when pombo starts: [http] listen has port 0", {
    hint: "Start pombo and ask again, or choose a port.",
  });
}

function localDashboard({ address, port }: HostPort, hostname: string): DashboardPlace {
  const local = LOCAL[address] ?? address;
  const host = local.includes(":") ? `[${local}]` : local;
  return { origin: toLocalhost(`http://${host}:${port}`), tunnel: `ssh -L ${port}:${host}:${port} ${hostname}` };
}

/** How an instance that listens on all addresses is reached from its own machine. */
const LOCAL: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The same place by its name: browsers allow no passkeys where the host is an address (WebAuthn Level 3, §5.1.2). */
export function toLocalhost(url: string): string {
  return url.replace(/^http:\/\/(127\.0\.0\.1|\[::1\])(?=:|\/|$)/, "http://localhost");
}
