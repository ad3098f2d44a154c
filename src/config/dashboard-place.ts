// Where people open the dashboard, as links to it say.

import type { HostPort } from "../platform/ip/address.ts";
import type { Config } from "./config.ts";

interface DashboardPlace {
  /** As `https://mail.example.net`: links begin so. */
  origin: string;
  /** The command that brings it to another machine; null: it is reached from everywhere. */
  tunnel: string | null;
}

/** Without `[dashboard] url` only this machine reaches it. */
export function findDashboard({
  dashboard,
  http,
  hostname,
}: Pick<Config, "dashboard" | "http" | "hostname">): DashboardPlace {
  return dashboard.url === null ? localDashboard(http.listen, hostname) : { origin: dashboard.url, tunnel: null };
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
