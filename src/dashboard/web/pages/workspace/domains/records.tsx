// The records to publish, in the form of the DNS host that was recognised, with what is seen of each. Also on the page of a
// link, whose reader has no account.

import { Badge, Card, CopyButton, type Data, formatNumber, Icon, Notice, t, type Tone } from "../../../kit.ts";
import { isolate } from "../parts/words.tsx";

export type DnsHost = Data<"GET /api/v1/domains/:id/dns-host">;
type DnsRecord = DnsHost["records"][number];

const ROLES = ["rsa", "ed25519", "spf", "dmarc"] as const;

export function isComplete({ records }: DnsHost): boolean {
  return records.every(({ status }) => status === "found");
}

/** The way to the records, in the words of the host's own page. */
export function HostSteps({ at: { zone, host, nameServers } }: { at: DnsHost }) {
  const words = t().domains;
  const end = isolate(`.${zone ?? ""}`);
  if (host === null)
    return (
      <Card
        title={words.hostUnknown}
        intro={
          nameServers.length === 0
            ? words.hostSilent
            : words.hostUnknownText(isolate(nameServers.slice(0, 4).join(", ")))
        }
      >
        <ol class="prose-list">
          <li>{words.stepCopy}</li>
          {zone !== null && <li>{words.stepNameAsk(end)}</li>}
          <li>{words.stepDone}</li>
        </ol>
      </Card>
    );
  const field = isolate(host.fields.name);
  return (
    <Card title={words.hostTitle(isolate(host.name))}>
      <ol class="prose-list">
        <li>{words.stepOpen(isolate(host.place), isolate(host.add))}</li>
        <li>{host.nameForm === "full" ? words.stepNameFull(field) : words.stepName(field, end)}</li>
        {host.hasProxy === true && <li>{words.stepProxy}</li>}
        <li>{words.stepDone}</li>
      </ol>
    </Card>
  );
}

export function Records({ at }: { at: DnsHost }) {
  return (
    <ol class="dns-records">
      {at.records.map((record, index) => (
        <RecordCard key={record.name} record={record} role={ROLES[index] ?? "dmarc"} at={at} />
      ))}
    </ol>
  );
}

/** The world's state, or that of the zone's own servers where these are ahead. */
function findState({ status, published }: DnsRecord): "found" | "atHost" | "missing" | "mismatch" | "unknown" {
  if (status === "found") return "found";
  if (published === "found") return "atHost";
  return published ?? status ?? "unknown";
}

const TONES: Record<ReturnType<typeof findState>, Tone> = {
  found: "good",
  atHost: "slow",
  missing: "plain",
  mismatch: "bad",
  unknown: "plain",
};

interface RecordProps {
  record: DnsRecord;
  role: (typeof ROLES)[number];
  at: DnsHost;
}

function RecordCard({ record, role, at: { host, negativeTtl } }: RecordProps) {
  const words = t().domains;
  const state = findState(record);
  const fields = host?.fields;
  const value = record.type === "CNAME" ? (fields?.target ?? words.target) : (fields?.value ?? words.value);
  return (
    <li class={`card ${state}`}>
      <div class="dns-head">
        <h2>
          {state === "found" && <Icon name="check" />}
          {words.roles[role]}
        </h2>
        <span role="status">
          <Badge tone={state === "missing" && record.mistake !== undefined ? "bad" : TONES[state]}>
            {words[state]}
          </Badge>
        </span>
      </div>
      {state === "found" ? (
        <p class="small soft">
          {record.type} <code>{record.name}</code>
        </p>
      ) : (
        <>
          <p class="small soft">{words.rolesText[role]}</p>
          {state === "atHost" && (
            <Notice tone="slow">
              <p>{negativeTtl === null ? words.atHostSoon : words.atHostText(formatMinutes(negativeTtl))}</p>
            </Notice>
          )}
          {state !== "atHost" && record.mistake !== undefined && <Mistake record={record} />}
          <dl class="copy-lines">
            <div>
              <dt>{words.type}</dt>
              <dd>
                <code>{record.type}</code>
              </dd>
            </div>
            <CopyLine label={fields?.name ?? words.name} value={record.nameAtHost} copy={words.copyName} />
            <CopyLine label={value} value={record.value} copy={words.copyValue} />
          </dl>
        </>
      )}
    </li>
  );
}

function Mistake({ record: { mistake = "other_value", status, foundAt, found = [] } }: { record: DnsRecord }) {
  const words = t().domains;
  const isTarget = mistake === "zone_doubled" && foundAt === undefined;
  const seen = foundAt === undefined ? found.map((each) => each.slice(0, 300)).join("\n") : null;
  return (
    <div class="notice bad">
      <p>{words.mistakes[isTarget ? "zone_doubled_target" : mistake]}</p>
      {foundAt !== undefined && <p class="small">{words.savedAs(isolate(foundAt))}</p>}
      {seen !== null && seen !== "" && status !== "found" && (
        <p class="small">
          {words.inDns}: <code>{isolate(seen)}</code>
        </p>
      )}
    </div>
  );
}

function CopyLine({ label, value, copy }: { label: string; value: string; copy: string }) {
  return (
    <div>
      <dt>
        <bdi>{label}</bdi>
      </dt>
      <dd>
        <code>{value}</code>
      </dd>
      <dd>
        <CopyButton look="bare" text={value} label={copy} />
      </dd>
    </div>
  );
}

function formatMinutes(seconds: number): string {
  const [value, unit] =
    seconds < 5_400 ? [Math.max(1, Math.ceil(seconds / 60)), "minute"] : [Math.ceil(seconds / 3_600), "hour"];
  return formatNumber(value, { style: "unit", unit, unitDisplay: "long" });
}
