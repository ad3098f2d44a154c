// One call of a webhook: what was sent, what was answered, and the other attempts of its event.

import {
  Button,
  call,
  Card,
  type Data,
  ErrorNotice,
  formatNumber,
  LinkButton,
  Loading,
  Notice,
  Page,
  showToast,
  t,
  Time,
  useCall,
  useForm,
  workspacePath,
} from "../../../kit.ts";
import { Fact } from "../parts/fact.tsx";
import { may, useSeesContent } from "../parts/rights.ts";
import { Source } from "../parts/source.tsx";
import { CallStatus, CallTable } from "./calls.tsx";

type CallRecord = Data<"GET /api/v1/webhooks/:id/deliveries/:deliveryId">;

export function WebhookCall({ id, deliveryId }: { id: string; deliveryId: string }) {
  const words = t().calls;
  const { data, error, reload } = useCall("GET /api/v1/webhooks/:id/deliveries/:deliveryId", {
    params: { id, deliveryId },
  });
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath(`webhooks/${id}`)}>
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
              <code>{data.event}</code>
            </h2>
            <Now record={data} />
            <Facts record={data} />
            <Replay webhookId={id} record={data} />
          </Card>
          <Bodies record={data} />
          {data.attempts.length > 1 && (
            <Card title={words.attempts}>
              <CallTable webhookId={id} calls={data.attempts} caption={words.attempts} />
            </Card>
          )}
        </>
      )}
    </Page>
  );
}

/** Whether it was delivered, and why not where the answer below does not say it. */
function Now({ record }: { record: CallRecord }) {
  const { errorMessage, responseStatus, responseBody } = record;
  const isBelow = responseStatus !== null && responseStatus >= 400 && (responseBody ?? "") !== "";
  return (
    <div class="now">
      <CallStatus delivery={record} />
      <p>{errorMessage === null || isBelow ? t().calls.answered(String(responseStatus)) : <bdi>{errorMessage}</bdi>}</p>
    </div>
  );
}

function Facts({ record }: { record: CallRecord }) {
  const words = t().calls;
  // What comes after it was said anew by a later attempt.
  const isLast = record.attempts[0]?.id === record.id;
  return (
    <dl class="facts">
      <Fact name={words.attempt}>{formatNumber(record.attempt)}</Fact>
      <Fact name={words.when}>
        <Time value={record.createdAt} isFull />
      </Fact>
      <Fact name={words.duration}>{words.milliseconds(formatNumber(record.durationMs))}</Fact>
      {isLast && (
        <Fact name={words.next}>
          {record.nextAttemptAt === null ? words.nextNone : <Time value={record.nextAttemptAt} />}
        </Fact>
      )}
      <Fact name={words.eventId}>
        <code>{record.eventId}</code>
      </Fact>
    </dl>
  );
}

function Replay({ webhookId: id, record: { id: deliveryId } }: { webhookId: string; record: CallRecord }) {
  const words = t().calls;
  const replay = useForm(async () => {
    await call("POST /api/v1/webhooks/:id/deliveries/:deliveryId/replay", { params: { id, deliveryId } });
    showToast(words.replayed);
  });
  if (!may("send")) return null;
  return (
    <>
      {replay.error !== null && <ErrorNotice error={replay.error} />}
      <div class="actions">
        <Button icon="send" isBusy={replay.isBusy} onClick={() => replay.submit({})}>
          {words.replay}
        </Button>
      </div>
    </>
  );
}

function Bodies({ record: { payload, responseBody } }: { record: CallRecord }) {
  const words = t().calls;
  const isSeen = useSeesContent();
  if (isSeen === undefined) return null;
  if (!isSeen)
    return (
      <Card>
        <p class="soft">{words.hidden}</p>
      </Card>
    );
  return (
    <Card>
      {payload === null ? (
        <p class="soft">{words.sentNone}</p>
      ) : (
        <Source title={words.sent} direction="ltr" source={indent(payload)} isOpen />
      )}
      {responseBody === null && <p class="soft">{words.answerNotKept}</p>}
      {responseBody === "" && <p class="soft">{words.answerEmpty}</p>}
      {responseBody !== null && responseBody !== "" && (
        <Source title={words.answerBody} direction="auto" source={responseBody.trimEnd()} isOpen />
      )}
    </Card>
  );
}

/** For people; the API has it as it was signed. */
function indent(payload: string): string {
  return JSON.stringify(JSON.parse(payload), null, 2);
}
