// Writing an SMS and sending it. While it is written it says what the text costs, and which signs make it dear.

import {
  ApiError,
  call,
  Card,
  CopyButton,
  type Data,
  EmptyState,
  ErrorNotice,
  Field,
  Form,
  invalidate,
  LinkButton,
  Loading,
  Page,
  Select,
  showToast,
  t,
  useCall,
  useForm,
  useLocation,
  useRef,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { writeCurl } from "../parts/curl.ts";
import { findKey, noteInput, useDraft } from "../parts/draft.ts";
import { may } from "../parts/rights.ts";
import { Cost } from "./cost.tsx";
import { buildBody, drafts, isWritten } from "./draft.ts";
import { useCost } from "./use-cost.ts";

type Workspace = Data<"GET /api/v1/workspace">;

const SMS = "/api/v1/sms";
const CREDITS = "/api/v1/workspace/credits";

export function ComposeSms() {
  const words = t().smsCompose;
  const { data, error, reload } = useCall("GET /api/v1/workspace", { query: { include: "usage" } });
  const missing = data === undefined ? null : findMissing(data);
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("sms")}>
      {words.back}
    </LinkButton>
  );
  return (
    <Page title={words.title} back={back}>
      {!may("send") ? (
        <EmptyState icon="send" title={words.notYours} />
      ) : missing !== null ? (
        <EmptyState icon="send" title={missing}>
          <p>{words.askOperator}</p>
        </EmptyState>
      ) : data !== undefined ? (
        <ComposeForm of={data} />
      ) : error === null ? (
        <Loading />
      ) : (
        <ErrorNotice error={error} retry={reload} />
      )}
    </Page>
  );
}

/** What keeps the workspace from sending any. */
function findMissing({ sms, senderIds }: Workspace): string | null {
  const words = t().smsCompose;
  if (!sms.isInPlan) return words.notInPlan;
  if (!sms.isConnected) return words.notConnected;
  return senderIds.length === 0 ? words.noSender : null;
}

function ComposeForm({ of: { senderIds, sms, usage } }: { of: Workspace }) {
  const words = t().smsCompose;
  const { route } = useLocation();
  const draft = useDraft(drafts, isWritten);
  const { values } = draft;
  const place = useRef<HTMLDivElement>(null);
  const [written, setWritten] = useState({ to: values["to"] ?? "", body: values["body"] ?? "" });
  const { counted, error } = useCost(written);
  const sender = (senderIds.find(({ isDefault }) => isDefault) ?? senderIds[0])?.name ?? "";
  const form = useForm(async () => {
    const body = buildBody(draft, sender);
    const { data } = await nameFaults(call("POST /api/v1/sms", { body, idempotencyKey: findKey(draft, body) }));
    drafts.forget();
    draft.values = {};
    invalidate(SMS, CREDITS, "/api/v1/workspace");
    showToast(words.accepted);
    route(workspacePath(`sms/${data.id}`));
  });
  const note = () => setWritten({ to: values["to"] ?? "", body: values["body"] ?? "" });
  const replace = (text: string) => {
    const area = place.current?.querySelector("textarea");
    if (!area) return;
    area.value = text;
    values["body"] = text;
    note();
    // The button that did it is gone.
    area.focus();
  };
  const given = (name: string) => ({ name, defaultValue: values[name] ?? "", autoComplete: "off" });
  // Of counting: only what is wrong with the text, since the server may be away while somebody writes.
  const faulty = error?.status === 422 ? error : null;
  return (
    <Card>
      <div
        ref={place}
        onInput={(event) => {
          noteInput(draft, event);
          note();
        }}
      >
        <Form state={{ ...form, error: form.error ?? faulty }} action={words.send}>
          <div class="fields">
            <Field {...given("to")} type="tel" label={words.to} hint={words.toHint(sms.example)} isFocused />
            <Select
              name="from"
              label={words.from}
              value={values["from"] ?? sender}
              options={senderIds.map(({ name }) => ({ value: name, label: name }))}
            />
          </div>
          <Field {...given("body")} label={words.text} rows={6} />
          <Cost counted={counted} left={usage?.usage.smsCreditsBalance} replace={replace} />
          <div class="actions">
            <CopyButton
              label={words.curl}
              text={() => writeCurl(location.origin, null, buildBody(draft, sender), SMS)}
            />
          </div>
        </Form>
      </div>
    </Card>
  );
}

/** Too few credits stand where the credits are. */
async function nameFaults<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "INSUFFICIENT_SMS_CREDITS") throw error;
    invalidate("/api/v1/workspace");
    throw new ApiError(
      error.status,
      error.items.map((item) => ({ ...item, field: "credits" })),
      error.retryAfterS,
    );
  }
}
