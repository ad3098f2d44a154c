// What needs somebody: a block with its figures, domains without their records, a quota near its end.

import type { ComponentChildren } from "preact";
import { Card, type Data, formatNumber, Icon, LinkButton, t, Time, type Tone, workspacePath } from "../../../kit.ts";
import type { HomeState } from "./flow.tsx";
import { isolate } from "../parts/words.tsx";

/** Of a limit; from here on it is told. */
const NEAR = 0.8;
/** A warning of the rates comes at half of both limits, as the server's does. */
const RATE_NEAR = 0.5;

interface Need {
  key: string;
  tone: Tone;
  title: string;
  body?: ComponentChildren;
  action?: ComponentChildren;
}

interface NeedsProps extends HomeState {
  /** The first steps tell of domains already. */
  isNew: boolean;
}

export function Needs({ workspace, usage, domains, isNew }: NeedsProps) {
  const needs = [
    ...describeBlock(workspace),
    ...describeRates(workspace),
    ...domains.flatMap((domain) => describeDomain(domain, isNew)),
    ...describeQuota(usage),
  ];
  if (needs.length === 0) return null;
  return (
    <Card title={t().home.needs}>
      <ul class="needs">
        {needs.map(({ key, tone, title, body, action }) => (
          <li key={key} class={tone}>
            <Icon name="alert" />
            <div>
              <h3>{title}</h3>
              {body}
            </div>
            {action}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function describeBlock({ block }: HomeState["workspace"]): Need[] {
  if (block === null) return [];
  const words = t().home;
  const body = (
    <>
      {block.reason !== null && (
        <p>
          <bdi>{block.reason}</bdi>
        </p>
      )}
      <p class="soft">
        {block.isHeld ? words.blockHeld : words.blockText} {words.blockAsk}
      </p>
      <p class="small soft">
        {words.since} <Time value={block.since} isFull />
      </p>
    </>
  );
  return [{ key: "block", tone: "bad", title: block.isHeld ? words.flowHeld : words.flowBlocked, body }];
}

function describeRates({ rates, block }: HomeState["workspace"]): Need[] {
  if (block !== null) return [];
  const words = t().home;
  const percent = (value: number) => formatNumber(value / 100, { style: "percent", maximumFractionDigits: 2 });
  return (["bounces", "complaints"] as const).flatMap((name) => {
    const rate = rates[name];
    const isNear = rate.percent >= rate.limitPercent * RATE_NEAR && rate.count >= rate.limitCount * RATE_NEAR;
    if (!isNear) return [];
    const tell = name === "bounces" ? words.rateBounces : words.rateComplaints;
    const title = tell(percent(rate.percent), percent(rate.limitPercent));
    return [{ key: name, tone: "slow" as const, title, body: <p class="soft">{words.rateHelp}</p> }];
  });
}

function describeDomain(domain: Data<"GET /api/v1/domains">[number], isNew: boolean): Need[] {
  const words = t().home;
  const titles: Record<string, [Tone, (name: string) => string] | undefined> = {
    pending: isNew ? undefined : ["slow", words.domainPending],
    failed: ["slow", words.domainFailed],
    warning: ["bad", words.domainWarning],
    suspended: ["bad", words.domainSuspended],
  };
  const found = titles[domain.status];
  if (found === undefined) return [];
  const [tone, tell] = found;
  const action = domain.status !== "suspended" && (
    <LinkButton href={workspacePath(`domains/${domain.id}`)}>{words.domainShow}</LinkButton>
  );
  return [{ key: domain.id, tone, title: tell(isolate(domain.domain)), action }];
}

function describeQuota({ usage, limits }: HomeState["usage"]): Need[] {
  const words = t().home;
  const near = (used: number, limit: number) => limit >= 0 && used >= limit * NEAR;
  const tell = (used: number, limit: number, line: typeof words.quotaToday, help: string): Need[] =>
    near(used, limit)
      ? [
          {
            key: help,
            tone: used >= limit ? "bad" : "slow",
            title: line(formatNumber(used), formatNumber(limit)),
            body: <p class="soft">{help}</p>,
          },
        ]
      : [];
  return [
    ...tell(usage.emailsToday, limits.emailsPerDay, words.quotaToday, words.quotaHelpDay),
    ...tell(usage.emailsThisMonth, limits.emailsPerMonth, words.quotaMonth, words.quotaHelpMonth),
  ];
}
