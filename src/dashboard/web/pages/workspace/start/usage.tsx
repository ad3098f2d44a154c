// How much of the plan is used.

import { Card, formatBytes, formatNumber, t, workspacePath } from "../../../kit.ts";
import type { WorkspaceUsage } from "./flow.tsx";

/** -1: there is no limit. */
const UNLIMITED = -1;

export function Usage({ usage: { plan, usage, limits } }: { usage: WorkspaceUsage }) {
  const words = t().home;
  return (
    <Card title={words.usage} intro={words.usagePlan(plan)}>
      <dl class="meters">
        <Meter label={words.usageToday} used={usage.emailsToday} limit={limits.emailsPerDay} />
        <Meter label={words.usageMonth} used={usage.emailsThisMonth} limit={limits.emailsPerMonth} />
        {(usage.smsCreditsBalance > 0 || usage.smsThisMonth > 0) && <Credits left={usage.smsCreditsBalance} />}
        <Meter label={words.usageDomains} used={usage.domains} limit={limits.domains} />
        <Meter label={words.usageKeys} used={usage.apiKeys} limit={limits.apiKeys} />
        <Meter label={words.usageMembers} used={usage.members} limit={limits.members} />
        <Meter label={words.usageStorage} used={usage.storageBytes} limit={limits.storageBytes} format={formatBytes} />
      </dl>
    </Card>
  );
}

function Credits({ left }: { left: number }) {
  return (
    <div class="meter">
      <dt>{t().workspace.credits}</dt>
      <dd>
        <a href={workspacePath("credits")}>
          <strong>{formatNumber(left)}</strong>
        </a>
      </dd>
    </div>
  );
}

interface MeterProps {
  label: string;
  used: number;
  limit: number;
  format?: (value: number) => string;
}

function Meter({ label, used, limit, format = (value) => formatNumber(value) }: MeterProps) {
  const words = t().home;
  const isLimited = limit !== UNLIMITED;
  return (
    <div class="meter">
      <dt>{label}</dt>
      <dd>
        <strong>{format(used)}</strong>{" "}
        <span class="soft small">{isLimited ? words.usageOf(format(limit)) : words.usageUnlimited}</span>
        {isLimited && (
          <meter
            aria-label={label}
            value={Math.min(used, limit)}
            max={Math.max(limit, 1)}
            high={Math.max(limit, 1) * 0.8}
          />
        )}
      </dd>
    </div>
  );
}
