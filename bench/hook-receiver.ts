// The receivers of `script/bench webhooks`, in a process of their own: calls to /hook/… are taken and
// counted, calls to /hang/… are never answered. GET /counts tells.
//
// Run by bench/webhooks.ts: bun bench/hook-receiver.ts <port>

export interface Counts {
  /** Calls taken, all together. */
  taken: number;
  /** Paths under /hook/ that have been called since the last time somebody asked with ?forget. */
  paths: number;
  /** Calls under way that are never answered. */
  hanging: number;
}

const counts: Counts = { taken: 0, paths: 0, hanging: 0 };
const seen = new Set<string>();

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  idleTimeout: 255,
  async fetch(request) {
    const { url } = request;
    if (url.includes("/counts")) {
      const told = { ...counts, paths: seen.size };
      if (url.endsWith("?forget")) seen.clear();
      return Response.json(told);
    }
    await request.bytes();
    if (url.includes("/hang/")) {
      counts.hanging += 1;
      request.signal.addEventListener("abort", () => (counts.hanging -= 1));
      return await new Promise<Response>(() => undefined);
    }
    counts.taken += 1;
    seen.add(url);
    return new Response(null, { status: 204 });
  },
});
