// The settings of a workspace: its name, its plan, its SMS senders, and who sees what messages say. Who may not change one sees how it is.

import {
  Badge,
  call,
  Card,
  CodeBlock,
  type Data,
  ErrorNotice,
  Field,
  Form,
  formatBytes,
  formatNumber,
  invalidate,
  Loading,
  Page,
  refreshMe,
  showToast,
  t,
  Time,
  useCall,
  useForm,
} from "../../../kit.ts";
import { Fact } from "../parts/fact.tsx";
import { may } from "../parts/rights.ts";
import { ContentSettings } from "./content.tsx";

type Own = Data<"GET /api/v1/workspace">;

export function Settings() {
  const words = t().settings;
  const { data, error, reload } = useCall("GET /api/v1/workspace", { query: { include: "usage" } });
  return (
    <Page title={words.title} intro={words.text}>
      {data === undefined && error === null && <Loading />}
      {error !== null && <ErrorNotice error={error} retry={reload} />}
      {data !== undefined && (
        <>
          <Identity of={data} />
          <ContentSettings of={data} />
          <Plan of={data} />
          <Senders of={data} />
          <Card title={words.remove} intro={words.removeText}>
            <CodeBlock code={data.id} />
          </Card>
        </>
      )}
    </Page>
  );
}

function Identity({ of: { name, createdAt } }: { of: Own }) {
  const words = t().settings;
  const form = useForm(async (values) => {
    await call("PATCH /api/v1/workspace", { body: { name: values["name"] ?? "" } });
    invalidate("/api/v1/workspace");
    await refreshMe();
    showToast(t().common.saved);
  });
  return (
    <Card title={words.nameTitle}>
      {may("own") ? (
        <Form state={form} label={words.nameTitle} action={t().common.save}>
          {/* A name that somebody else gave it replaces the one in the field. */}
          <Field
            key={name}
            name="name"
            label={words.name}
            hint={words.nameHint}
            defaultValue={name}
            autoComplete="off"
          />
        </Form>
      ) : (
        <dl class="facts">
          <Fact name={words.name}>
            <bdi>{name}</bdi>
          </Fact>
        </dl>
      )}
      <dl class="facts">
        <Fact name={words.created}>
          <Time value={createdAt} isFull />
        </Fact>
      </dl>
    </Card>
  );
}

/** Of a limit: there is none. */
const UNLIMITED = -1;

function Plan({ of: { plan, usage: report } }: { of: Own }) {
  const words = t().settings;
  if (report === undefined) return null;
  const { limits, usage } = report;
  const show = (used: number, limit: number, format: (value: number) => string = formatNumber) =>
    limit === UNLIMITED ? words.unlimited(format(used)) : words.used(format(used), format(limit));
  return (
    <Card title={words.limits} intro={words.limitsText}>
      <dl class="facts">
        <Fact name={words.plan}>{plan}</Fact>
        <Fact name={words.emailsPerDay}>{show(usage.emailsToday, limits.emailsPerDay)}</Fact>
        <Fact name={words.emailsPerMonth}>{show(usage.emailsThisMonth, limits.emailsPerMonth)}</Fact>
        <Fact name={words.domains}>{show(usage.domains, limits.domains)}</Fact>
        <Fact name={words.apiKeys}>{show(usage.apiKeys, limits.apiKeys)}</Fact>
        <Fact name={words.webhooks}>{show(usage.webhooks, limits.webhooks)}</Fact>
        <Fact name={words.members}>{show(usage.members, limits.members)}</Fact>
        <Fact name={words.storage}>{show(usage.storageBytes, limits.storageBytes, formatBytes)}</Fact>
      </dl>
    </Card>
  );
}

function Senders({ of: { senderIds } }: { of: Own }) {
  const words = t().settings;
  return (
    <Card title={words.senders} intro={words.sendersText}>
      {senderIds.length === 0 && <p class="soft">{words.sendersNone}</p>}
      {senderIds.length > 0 && (
        <ul class="rows">
          {senderIds.map(({ name, isDefault }) => (
            <li key={name}>
              <bdi>{name}</bdi>
              {isDefault && <Badge>{words.senderDefault}</Badge>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
