/**
 * One run: all groups side by side, each with the time of the whole. What has not ended by then is unknown, never left
 * out: silence must not look like health.
 */
import type { Log } from "../../platform/log.ts";
import { FINDING_IDS, type FindingId, type Group, GROUPS, groupOf } from "./catalog.ts";
import { checkAddress } from "./checks/address.ts";
import { checkBounce } from "./checks/bounce.ts";
import { checkDomains } from "./checks/domains.ts";
import { checkMachine } from "./checks/machine.ts";
import { checkName } from "./checks/name.ts";
import { checkProviders } from "./checks/providers.ts";
import { checkReputation } from "./checks/reputation.ts";
import { checkResolver } from "./checks/resolver.ts";
import { checkSms } from "./checks/sms.ts";
import { checkSpf } from "./checks/spf.ts";
import { type Finding, unknown, worstFirst } from "./finding.ts";
import { checkRules, RULE_GROUPS, RULE_IDS, settleVolumes } from "./provider-rules.ts";
import type { World } from "./world.ts";

type Check = (world: World) => Promise<Finding[]>;

const CHECKS: Record<Group, Check> = {
  resolver: checkResolver,
  address: checkAddress,
  name: checkName,
  spf: checkSpf,
  bounce: checkBounce,
  reputation: checkReputation,
  domains: checkDomains,
  providers: checkProviders,
  machine: checkMachine,
  sms: checkSms,
};

/** `only` null: everything. */
export async function examine(world: World, only: readonly FindingId[] | null, log: Log): Promise<Finding[]> {
  const wanted = new Set<FindingId>(only ?? FINDING_IDS);
  const groups = GROUPS.filter(
    (group) =>
      FINDING_IDS.some((id) => groupOf(id) === group && wanted.has(id)) ||
      (RULE_IDS.some((id) => wanted.has(id)) && RULE_GROUPS.includes(group)),
  );
  const look = (some: Group[]) => Promise.all(some.map((group) => examineGroup(group, world, log)));
  const own = await look(groups.filter((group) => group !== "domains"));
  // With the questions that are left.
  const ofDomains = await look(groups.filter((group) => group === "domains"));
  const found = [...own, ...ofDomains].flat();
  const rules = checkRules(found);
  return worstFirst([...settleVolumes(found, rules), ...rules].filter(({ id }) => wanted.has(id)));
}

async function examineGroup(group: Group, world: World, log: Log): Promise<Finding[]> {
  // What the rules ask for is derived from the others.
  const ids = FINDING_IDS.filter((id) => groupOf(id) === group && id !== "provider_rules");
  const { promise, resolve } = Promise.withResolvers<Finding[]>();
  const late = () => resolve(ids.map((id) => unknown(id, "The time of this run was over before this was looked at.")));
  // Checks end by themselves when the signal is aborted; one that does not must not hold up the others.
  let cancel: (() => void) | null = null;
  const abort = () => (cancel = world.steady.after(GRACE_MS, late));
  if (world.signal.aborted) abort();
  else world.signal.addEventListener("abort", abort);
  void CHECKS[group](world).then(resolve, (error: unknown) => {
    log.error(`doctor ${group}`, error);
    resolve(ids.map((id) => unknown(id, "This could not be looked at: an internal error, which the log shows.")));
  });
  return promise.finally(() => {
    world.signal.removeEventListener("abort", abort);
    cancel?.();
  });
}

const GRACE_MS = 1_000;
