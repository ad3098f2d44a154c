// One SMS: what it is, what happened to each of its parts and why, and what it cost.

import {
  Card,
  CopyButton,
  type Data,
  ErrorNotice,
  followMessages,
  formatNumber,
  LinkButton,
  Loading,
  Notice,
  Page,
  t,
  Time,
  useCall,
  useEffect,
  workspacePath,
} from "../../../kit.ts";
import { writeCurl } from "../parts/curl.ts";
import { Fact } from "../parts/fact.tsx";
import { Source } from "../parts/source.tsx";
import { findSmsStatus, SmsStatusBadge } from "./status.tsx";
import { SmsTimeline } from "./timeline.tsx";

type Sms = Data<"GET /api/v1/sms/:id">;

/** Such a recipient is suppressed. */
const SUPPRESSING = ["unknown_subscriber", "opted_out"];

export function SmsMessage({ id }: { id: string }) {
  const words = t().sms;
  const { data, error, reload } = useCall("GET /api/v1/sms/:id", { params: { id } });
  useEffect(() => followMessages([id]), [id]);
  const status = data === undefined ? null : findSmsStatus(id, data.status);
  useEffect(() => {
    if (status !== null && status !== data?.status) reload();
  }, [status]);
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("sms")}>
      {words.title}
    </LinkButton>
  );
  if (data === undefined)
    return (
      <Page title={words.one} back={back}>
        {error === null ? (
          <Loading />
        ) : error.status === 404 ? (
          <Notice>{words.gone}</Notice>
        ) : (
          <ErrorNotice error={error} retry={reload} />
        )}
      </Page>
    );
  return (
    <Page title={words.one} back={back}>
      <Card>
        <h2 class="subject">
          <bdi>{data.to}</bdi>
        </h2>
        <Now sms={data} />
        <Facts sms={data} />
        <Actions sms={data} />
      </Card>
      <Card title={words.timeline}>
        <SmsTimeline of={data} />
      </Card>
      <Card title={words.body}>
        {data.body === null ? (
          <p class="soft">{words.bodyHidden}</p>
        ) : (
          <Source title={words.body} direction="auto" source={data.body} isOpen />
        )}
      </Card>
    </Page>
  );
}

/** Its status in a sentence, and why it was not delivered. */
function Now({ sms }: { sms: Sms }) {
  const words = t().sms;
  const { id, failureCategory, possibleDuplicate } = sms;
  const status = findSmsStatus(id, sms.status);
  return (
    <div class="now">
      <SmsStatusBadge id={id} status={sms.status} />
      <p>
        {words.now[status]} {failureCategory !== null && words.why[failureCategory]}
      </p>
      {possibleDuplicate && <p class="small soft">{words.duplicate}</p>}
    </div>
  );
}

function Facts({ sms }: { sms: Sms }) {
  const words = t().sms;
  return (
    <dl class="facts">
      <Fact name={words.from}>
        <bdi>{sms.from}</bdi>
      </Fact>
      {sms.sentBy !== null && (
        <Fact name={t().email.sentBy}>
          <bdi>{sms.sentBy.name ?? t().email.sentByGone[sms.sentBy.kind]}</bdi>
        </Fact>
      )}
      <Fact name={words.created}>
        <Time value={sms.createdAt} isFull />
      </Fact>
      {sms.deliveredAt !== null && (
        <Fact name={words.statuses.delivered}>
          <Time value={sms.deliveredAt} isFull />
        </Fact>
      )}
      <Fact name={words.parts}>{words.encodings[sms.encoding](formatNumber(sms.segments))}</Fact>
      <Fact name={words.credits}>
        <a href={workspacePath("credits")}>{formatNumber(sms.credits)}</a>
      </Fact>
      <Said sms={sms} />
      <Fact name={t().email.id}>
        <code>{sms.id}</code>
      </Fact>
    </dl>
  );
}

/** What the network said, in its own words. */
function Said({ sms: { providerId, providerStatus, providerErrorCode, failedReason } }: { sms: Sms }) {
  const words = t().sms;
  const said = [providerStatus, providerErrorCode].filter((each) => each !== null).join(" ");
  return (
    <>
      {said !== "" && (
        <Fact name={words.said}>
          <code>{said}</code>
        </Fact>
      )}
      {failedReason !== null && (
        <Fact name={words.reason}>
          <bdi>{failedReason}</bdi>
        </Fact>
      )}
      {providerId !== null && (
        <Fact name={words.providerId}>
          <code>{providerId}</code>
        </Fact>
      )}
    </>
  );
}

function Actions({ sms: { from, to, body, failureCategory } }: { sms: Sms }) {
  const words = t().sms;
  return (
    <div class="actions">
      {failureCategory !== null && SUPPRESSING.includes(failureCategory) && (
        <LinkButton href={`${workspacePath("suppressions")}?q=${encodeURIComponent(to)}`}>
          {words.suppression}
        </LinkButton>
      )}
      {body !== null && (
        <CopyButton label={t().email.curl} text={writeCurl(location.origin, null, { from, to, body }, "/api/v1/sms")} />
      )}
    </div>
  );
}
