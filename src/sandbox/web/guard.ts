/**
 * Who may read the sandbox's inbox: the person at this machine's own browser and tools, and no
 * web page that happens to be open there. The inbox needs no key, so two doors are shut
 * instead: a name that merely points at 127.0.0.1 (DNS rebinding), and requests that another
 * origin's page sends.
 */

/** Why a request may not see the inbox, in one sentence; null when it may. */
export function refusalOf(request: Request): string | null {
  // Null: the name that it was asked by cannot be a part of a URL.
  const url = URL.parse(request.url);
  const host = request.headers.get("host") ?? url?.host ?? "";
  if (url === null || !isLoopback(host) || !isLoopback(url.host)) {
    return "The sandbox answers only to localhost, 127.0.0.1 and [::1].";
  }
  const origin = request.headers.get("origin");
  // "null", the origin of a sandboxed frame, is refused too: a message's html asks for nothing.
  if (origin !== null && origin !== `${url.protocol}//${host}`) {
    return "The sandbox answers only to its own pages, not to those of another site.";
  }
  return null;
}

/** Whether a Host value, with or without a port, names this machine. */
function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d{1,5}$/, "");
  if (name === "[::1]" || name === "localhost") return true;
  // RFC 6761 §6.3: browsers resolve names under localhost to loopback without asking DNS.
  if (/^([a-z0-9-]+\.)+localhost$/.test(name)) return true;
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}
