// Where Kannel tells of receipts (dlr-url) in `script/bench sms`, in a process of its own: GET /dlr?n=<number>
// notes it, GET /log and /state tell.
//
// Run by bench/peers/kannel.ts: bun bench/sms-dlr.ts <port>

import { NumberLog, now } from "./sms-log.ts";

export interface DlrState {
  distinct: number;
  /** Unix ms. */
  lastAt: number;
}

const told = new NumberLog();
const DIGITS = /\?n=(\d+)/;

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  idleTimeout: 255,
  fetch({ url }) {
    const number = DIGITS.exec(url)?.[1];
    if (number !== undefined) {
      told.note(Number(number), now());
      return new Response(null, { status: 204 });
    }
    if (url.endsWith("/log")) return Response.json(told);
    const state: DlrState = { distinct: told.distinct, lastAt: told.lastAt };
    return Response.json(state);
  },
});
