// One webhook: what it is, what can be done with it, and its calls.

import {
  Button,
  call,
  Card,
  type Data,
  ErrorNotice,
  LinkButton,
  Loading,
  Notice,
  Page,
  SecretDialog,
  showToast,
  t,
  Time,
  useCall,
  useForm,
  useLocation,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { Fact } from "../parts/fact.tsx";
import { may } from "../parts/rights.ts";
import { WebhookCalls } from "./calls.tsx";
import { DeleteDialog, DisableDialog, EditDialog, RotateDialog, setEnabled } from "./dialogs.tsx";
import { isFailing, nameWebhook, tellEvents, WebhookState } from "./list.tsx";

type WebhookRecord = Data<"GET /api/v1/webhooks/:id">;

export function Webhook({ id }: { id: string }) {
  const { data, error, reload } = useCall("GET /api/v1/webhooks/:id", { params: { id } });
  const words = t().webhooks;
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("webhooks")}>
      {words.back}
    </LinkButton>
  );
  if (error?.status === 404)
    return (
      <Page title={words.one} back={back}>
        <Notice>{words.gone}</Notice>
      </Page>
    );
  return (
    <Page title={words.one} back={back}>
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && <ErrorNotice error={error} retry={reload} />}
      {data !== undefined && (
        <>
          <Card>
            <h2 class="subject">
              <bdi>{nameWebhook(data)}</bdi>
            </h2>
            <Now webhook={data} />
            <Facts webhook={data} />
            <Actions webhook={data} />
          </Card>
          <WebhookCalls id={id} />
        </>
      )}
    </Page>
  );
}

/** Its state in a sentence, with why it is so. */
function Now({ webhook }: { webhook: WebhookRecord }) {
  const words = t().webhooks;
  const { enabled, disabledReason } = webhook;
  return (
    <div class="now">
      <WebhookState webhook={webhook} />
      {enabled && isFailing(webhook) && (
        <p>
          <bdi>{webhook.lastFailureReason}</bdi>
        </p>
      )}
      {!enabled && (
        <p>
          {disabledReason === null ? words.disabledByHand : words.disabledReason} <bdi>{disabledReason}</bdi>
        </p>
      )}
    </div>
  );
}

function Facts({ webhook }: { webhook: WebhookRecord }) {
  const words = t().webhooks;
  return (
    <dl class="facts">
      <Fact name={words.url}>
        <bdi>{webhook.url}</bdi>
      </Fact>
      <Fact name={words.events}>{tellEvents(webhook.events)}</Fact>
      <Fact name={words.created}>
        <Time value={webhook.createdAt} isFull />
      </Fact>
      <Fact name={words.lastDelivery}>
        <Time value={webhook.lastDeliveryAt} />
      </Fact>
      <Fact name={words.lastFailure}>
        <Time value={webhook.lastFailureAt} />
      </Fact>
      <Fact name={words.id}>
        <code>{webhook.id}</code>
      </Fact>
    </dl>
  );
}

type Opened = "edit" | "disable" | "rotate" | "delete";

function Actions({ webhook }: { webhook: WebhookRecord }) {
  const words = t().webhooks;
  const { id, enabled } = webhook;
  const { route } = useLocation();
  const [opened, setOpened] = useState<Opened | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const test = useForm(async () => {
    await call("POST /api/v1/webhooks/:id/test", { params: { id } });
    showToast(words.tested);
  });
  const enable = useForm(() => setEnabled(id, true));
  const error = test.error ?? enable.error;
  const close = () => setOpened(null);
  return (
    <>
      {error !== null && <ErrorNotice error={error} />}
      <div class="actions">
        {may("send") && enabled && (
          <Button icon="send" isBusy={test.isBusy} onClick={() => test.submit({})}>
            {words.test}
          </Button>
        )}
        {may("manage") && (
          <>
            <Button onClick={() => setOpened("edit")}>{words.edit}</Button>
            {enabled ? (
              <Button onClick={() => setOpened("disable")}>{words.disable}</Button>
            ) : (
              <Button isBusy={enable.isBusy} onClick={() => enable.submit({})}>
                {words.enable}
              </Button>
            )}
            <Button onClick={() => setOpened("rotate")}>{words.rotate}</Button>
            <Button onClick={() => setOpened("delete")}>{words.delete}</Button>
          </>
        )}
      </div>
      {opened === "edit" && <EditDialog webhook={webhook} close={close} />}
      {opened === "disable" && <DisableDialog webhook={webhook} close={close} />}
      {opened === "rotate" && <RotateDialog webhook={webhook} made={setSecret} close={close} />}
      {opened === "delete" && (
        <DeleteDialog webhook={webhook} close={close} deleted={() => route(workspacePath("webhooks"))} />
      )}
      {secret !== null && (
        <SecretDialog title={words.secretTitle} secret={secret} close={() => setSecret(null)}>
          <p>{words.secretText}</p>
        </SecretDialog>
      )}
    </>
  );
}
