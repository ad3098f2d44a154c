// The webhooks of the workspace.

import {
  Badge,
  Button,
  call,
  Card,
  type Column,
  type Data,
  Dialog,
  EmptyState,
  ErrorNotice,
  Form,
  invalidate,
  Loading,
  Page,
  SecretDialog,
  t,
  Table,
  Time,
  useCall,
  useForm,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";
import { may } from "../parts/rights.ts";
import { readWebhook, WEBHOOKS, WebhookFields } from "./fields.tsx";
import { Line } from "../parts/words.tsx";

type WebhookRecord = Data<"GET /api/v1/webhooks">[number];

const query = { limit: "100" };

export function Webhooks() {
  const words = t().webhooks;
  const first = useCall("GET /api/v1/webhooks", { query });
  const list = useOlder(first, (cursor) => call("GET /api/v1/webhooks", { query: { ...query, cursor } }));
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const create = may("manage") ? (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      {words.create}
    </Button>
  ) : undefined;
  return (
    <Page title={words.title} intro={words.text} actions={create}>
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {list.rows === undefined && list.error === null && <Loading />}
      {list.rows?.length === 0 && (
        <EmptyState icon="hook" title={words.none}>
          <p>{words.noneText}</p>
        </EmptyState>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Card>
          <Table caption={words.title} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
          {list.showOlder !== null && (
            <Button isBusy={list.isBusy} onClick={list.showOlder}>
              {t().common.older}
            </Button>
          )}
        </Card>
      )}
      {isCreating && <CreateDialog made={setSecret} close={() => setCreating(false)} />}
      {secret !== null && (
        <SecretDialog title={words.secretTitle} secret={secret} close={() => setSecret(null)}>
          <p>{words.secretText}</p>
        </SecretDialog>
      )}
    </Page>
  );
}

function buildColumns(): Column<WebhookRecord>[] {
  const words = t().webhooks;
  return [
    {
      key: "url",
      title: words.url,
      isName: true,
      cell: ({ id, url, description }) => (
        <>
          <a href={workspacePath(`webhooks/${id}`)}>
            <Line>{nameWebhook({ url, description })}</Line>
          </a>
          {(description ?? "") !== "" && (
            <div class="soft small">
              <Line>{url}</Line>
            </div>
          )}
        </>
      ),
    },
    { key: "events", title: words.events, cell: ({ events }) => <Line>{tellEvents(events)}</Line> },
    { key: "state", title: words.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
    { key: "success", title: words.lastDelivery, cell: ({ lastDeliveryAt }) => <Time value={lastDeliveryAt} /> },
    { key: "failure", title: words.lastFailure, cell: ({ lastFailureAt }) => <Time value={lastFailureAt} /> },
  ];
}

/** What its people call it, or where it is. */
export function nameWebhook({ url, description }: Pick<WebhookRecord, "url" | "description">): string {
  return description === null || description === "" ? url : description;
}

export function tellEvents(events: string[]): string {
  return events.includes("*") ? t().webhooks.eventsAll : events.join(", ");
}

export function isFailing({ lastDeliveryAt, lastFailureAt }: WebhookRecord): boolean {
  return lastFailureAt !== null && (lastDeliveryAt === null || lastFailureAt > lastDeliveryAt);
}

export function WebhookState({ webhook }: { webhook: WebhookRecord }) {
  const words = t().webhooks;
  if (!webhook.enabled) return <Badge tone={webhook.disabledReason === null ? "plain" : "bad"}>{words.disabled}</Badge>;
  return isFailing(webhook) ? <Badge tone="slow">{words.failing}</Badge> : <Badge tone="good">{words.enabled}</Badge>;
}

function CreateDialog({ made, close }: { made: (secret: string) => void; close: () => void }) {
  const words = t().webhooks;
  const form = useForm(async (values) => {
    const { description, ...wanted } = readWebhook(values);
    const body = description === "" ? wanted : { ...wanted, description };
    const { data } = await call("POST /api/v1/webhooks", { body });
    invalidate(WEBHOOKS);
    close();
    made(data.secret);
  });
  return (
    <Dialog title={words.create} close={close}>
      <Form state={form} action={words.create} cancel={close}>
        <WebhookFields url="" events={["*"]} description={null} />
      </Form>
    </Dialog>
  );
}
