import type { DomainRow } from "./store.ts";
import type { Verdict } from "./check.ts";

/**
 * A domain's status after a check. pending → verified when its RSA key resolves; verified → warning
 * when it no longer does (it still sends); warning and failed → verified when it does again. What DNS
 * did not answer changes nothing, and what the operator suspended stays so.
 */
export function statusAfterCheck(status: DomainRow["status"], rsa: Verdict): DomainRow["status"] {
  if (status === "suspended" || rsa === "unknown") return status;
  if (rsa === "yes") return "verified";
  return status === "verified" ? "warning" : status;
}
