// The lease's record in the bucket of the replica, changed by conditional writes only (If-Match, If-None-Match).

import type { Clock } from "../../platform/clock.ts";
import { getErrorMessage, StartError } from "../../platform/errors.ts";
import { openReplicaBucket } from "../litestream/s3.ts";
import type { DaemonTools } from "../litestream/tools.ts";
import type { FoundLease, LeaseRecord } from "./lease.ts";

type ReplicaAccess = Pick<DaemonTools, "replication" | "environment">;

const OBJECT = "lease.json";
/** As far as the two clocks may differ; a late write is refused by its condition. */
const SIGNED_FOR_S = 900;
const SKEW_TOLD_MS = 5 * 60_000;

export type Written = { kind: "written"; etag: string } | { kind: "conflict" };

/** All reject where the service does not answer in time, or with an error: then nothing is known. */
export interface LeaseObject {
  /** Null: there is none yet. */
  read(): Promise<FoundLease | null>;
  /** `over`: the version that it replaces; null: there was none. */
  write(record: LeaseRecord, over: string | null): Promise<Written>;
}

export interface Bucket {
  /** The names below the replica's url that begin so; 1,000 at most. */
  list(prefix: string): Promise<string[]>;
  get(name: string): Promise<{ etag: string; text: string } | null>;
  put(name: string, text: string, condition: Record<string, string>): Promise<Written>;
  remove(name: string): Promise<void>;
}

/** Throws StartError where the replica is no bucket that pombo has a key for. `limitMs`: of each request. */
export async function openLeaseBucket(
  tools: ReplicaAccess,
  limitMs: number,
  clock: Pick<Clock, "now">,
): Promise<Bucket> {
  const opened = await openReplicaBucket(tools, AbortSignal.timeout(limitMs));
  if (opened === null)
    throw new StartError(
      '[standby] lease needs a replica in S3 and a key for it, since the lease is kept there: [replication] url = "s3://…", access_key_id and its secret.',
    );
  const { client, toKey } = opened;
  const request = async (method: "GET" | "PUT" | "DELETE", name: string, rest: RequestInit = {}) => {
    const url = client.presign(toKey(name), { method, expiresIn: SIGNED_FOR_S });
    const response = await fetch(url, { method, ...rest, signal: AbortSignal.timeout(limitMs) });
    const text = await response.text();
    const { status, headers } = response;
    return { status, etag: headers.get("etag") ?? "", text, date: headers.get("date") ?? "" };
  };
  const failed = (method: string, { status, text, date }: { status: number; text: string; date: string }) => {
    const code = /<Code>([^<]+)/.exec(text)?.[1]?.replace(/^/, " ") ?? "";
    const skew = status === 400 || status === 403 ? describeSkew(clock.now() - Date.parse(date)) : "";
    return new Error(`${method} was answered ${status}${code}${skew}`);
  };
  return {
    async list(prefix) {
      const root = toKey("");
      // The client itself waits without a limit.
      const late = Promise.withResolvers<never>();
      const limit = AbortSignal.timeout(limitMs);
      limit.addEventListener("abort", () => late.reject(new Error("the list was not answered in time")));
      const { contents = [] } = await Promise.race([client.list({ prefix: toKey(prefix) }), late.promise]);
      return contents.map(({ key }) => (root === "." ? key : key.slice(root.length + 1)));
    },
    async get(name) {
      const answer = await request("GET", name);
      if (answer.status === 404) return null;
      if (answer.status !== 200) throw failed("GET", answer);
      return answer;
    },
    async put(name, text, condition) {
      const answer = await request("PUT", name, { body: text, headers: condition });
      // 409: two conditional writes at the same moment; 404: what was to be replaced is gone.
      if ([404, 409, 412].includes(answer.status)) return { kind: "conflict" };
      if (answer.status !== 200 || answer.etag === "") throw failed("PUT", answer);
      return { kind: "written", etag: answer.etag };
    },
    async remove(name) {
      await request("DELETE", name);
    },
  };
}

/** Few services say that they refused a request because of the clock. `aheadMs`: of this machine's, NaN: not known. */
function describeSkew(aheadMs: number): string {
  if (!(Math.abs(aheadMs) >= SKEW_TOLD_MS)) return "";
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `; the clock of this machine is ${minutes} minutes ${aheadMs > 0 ? "ahead of" : "behind"} the service's: set it right first (sudo timedatectl set-ntp true)`;
}

export function openLeaseObject(bucket: Bucket): LeaseObject {
  return {
    async read() {
      const found = await bucket.get(OBJECT);
      return found === null ? null : { etag: found.etag, record: JSON.parse(found.text) as LeaseRecord };
    },
    write: (record, over) =>
      bucket.put(
        OBJECT,
        `${JSON.stringify(record)}\n`,
        over === null ? { "if-none-match": "*" } : { "if-match": over },
      ),
  };
}

/** The record as it is now; null: there is none. Rejects where it cannot be read. `limitMs`: for the answer. */
export async function readLeaseRecord(
  tools: ReplicaAccess,
  limitMs: number,
  clock: Pick<Clock, "now">,
): Promise<LeaseRecord | null> {
  return (await openLeaseObject(await openLeaseBucket(tools, limitMs, clock)).read())?.record ?? null;
}

/** Throws StartError where the service takes a write whose condition does not hold: then two machines would have the lease. */
export async function requireConditionalWrites(bucket: Bucket, nonce: string, url: string): Promise<void> {
  const name = `lease-probe-${nonce}`;
  let isHonoured: boolean;
  try {
    const first = await bucket.put(name, "1\n", { "if-none-match": "*" });
    const second = await bucket.put(name, "2\n", { "if-none-match": "*" });
    const third = await bucket.put(name, "3\n", { "if-match": '"0123456789abcdef0123456789abcdef"' });
    const fourth =
      first.kind === "written" ? await bucket.put(name, "4\n", { "if-match": first.etag }) : { kind: "conflict" };
    isHonoured =
      [first, second, third, fourth].map(({ kind }) => kind).join() === "written,conflict,conflict,written" &&
      (await bucket.get(name))?.text === "4\n";
    await bucket.remove(name);
  } catch (error) {
    throw new StartError(
      `The lease cannot be kept at ${url}: ${getErrorMessage(error)}. See that the service is reachable, and that the key may read, write and delete there.`,
    );
  }
  if (!isHonoured)
    throw new StartError(
      `The service of ${url} does not honour conditional writes (If-Match, If-None-Match), which keep two machines from sending at once. ` +
        'Use one that does, such as Amazon S3; or let one machine run alone: [standby] lease = "0s".',
    );
}
