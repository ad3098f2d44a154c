// Writing an email and sending it, now or later. What is typed stays while the server is away.

import {
  ApiError,
  Button,
  call,
  Card,
  CopyButton,
  Dialog,
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
  useState,
  workspacePath,
} from "../../../kit.ts";
import { writeCurl } from "../parts/curl.ts";
import { findKey, noteInput, useDraft } from "../parts/draft.ts";
import { isSender } from "../parts/first-email.ts";
import { Preview } from "../parts/preview.tsx";
import { may } from "../parts/rights.ts";
import { buildBody, type Draft, drafts, isWritten, readFiles, splitAddresses } from "./draft.ts";
import { FileField } from "./files.tsx";

export function Compose() {
  const words = t().compose;
  const domains = useCall("GET /api/v1/domains", { query: { limit: "100" } });
  const senders = domains.data?.filter(isSender).map(({ domain }) => domain);
  const back = (
    <LinkButton look="bare" icon="back" href={workspacePath("emails")}>
      {t().emails.title}
    </LinkButton>
  );
  return (
    <Page title={words.title} back={back}>
      {!may("send") ? (
        <EmptyState icon="mail" title={words.notYours} />
      ) : senders === undefined ? (
        domains.error === null ? (
          <Loading />
        ) : (
          <ErrorNotice error={domains.error} retry={domains.reload} />
        )
      ) : senders.length === 0 ? (
        <EmptyState icon="mail" title={words.noDomain}>
          <LinkButton href={workspacePath("domains")}>{words.domains}</LinkButton>
        </EmptyState>
      ) : (
        <ComposeForm senders={senders} />
      )}
    </Page>
  );
}

function ComposeForm({ senders }: { senders: string[] }) {
  const words = t().compose;
  const { route } = useLocation();
  const draft = useDraft(drafts, isWritten);
  const [shown, setShown] = useState<string | null>(null);
  const { values } = draft;
  const domain = senders[0] ?? "";
  const form = useForm(async () => {
    const files = await readFiles(draft.files);
    const body = { ...buildBody(draft, domain), ...(files.length === 0 ? {} : { attachments: files }) };
    const idempotencyKey = findKey(draft, body);
    const { data } = await nameFaults(call("POST /api/v1/emails", { body, idempotencyKey }), draft);
    drafts.forget();
    draft.values = {};
    draft.files = [];
    invalidate("/api/v1/emails");
    showToast(words.accepted);
    route(workspacePath(`emails/${data.id}`));
  });
  const given = (name: string) => ({ name, defaultValue: values[name] ?? "", autoComplete: "off" });
  return (
    <Card>
      <div onInput={(event) => noteInput(draft, event)}>
        <Form state={form} action={words.send}>
          <div class="fields">
            <Field {...given("fromName")} label={words.fromName} />
            <Field {...given("from")} label={words.from} />
            <Select
              name="fromDomain"
              label={words.fromDomain}
              value={values["fromDomain"] ?? domain}
              options={senders.map((value) => ({ value, label: `@${value}` }))}
            />
          </div>
          <Field {...given("to")} label={t().email.kinds.to} hint={words.severalHint} isFocused />
          <MoreFields values={values} given={given} error={form.error} />
          <Field {...given("subject")} label={t().emails.subject} />
          <Field {...given("text")} label={words.text} hint={words.textHint} rows={8} />
          <Field {...given("html")} label={words.html} rows={8} />
          <FileField draft={draft} />
          <div class="actions">
            <Button onClick={() => setShown(values["html"] ?? "")}>{words.preview}</Button>
            <CopyButton label={words.curl} text={() => writeCurl(location.origin, null, buildBody(draft, domain))} />
          </div>
        </Form>
      </div>
      {shown !== null && <PreviewDialog html={shown} close={() => setShown(null)} />}
    </Card>
  );
}

interface MoreProps extends Pick<Draft, "values"> {
  error: ApiError | null;
  given: (name: string) => { name: string; defaultValue: string; autoComplete: string };
}

function MoreFields({ values, error, given }: MoreProps) {
  const words = t().compose;
  const [wasFilled] = useState(() => MORE.some((name) => (values[name] ?? "") !== ""));
  // A fault is not to be hidden.
  const isFaulty = error?.items.some(({ field }) => field !== undefined && MORE.includes(field)) === true;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <details open={wasFilled || isFaulty}>
      <summary>{words.more}</summary>
      <div class="form">
        <Field {...given("cc")} label={t().email.kinds.cc} />
        <Field {...given("bcc")} label={t().email.kinds.bcc} />
        <Field {...given("replyTo")} label={t().email.replyTo} />
        <Field {...given("tag")} label={t().email.tag} />
        <Field {...given("sendAt")} type="datetime-local" label={words.sendAt} hint={t().email.sendAtHint(zone)} />
      </div>
    </details>
  );
}

const MORE = ["cc", "bcc", "replyTo", "tag", "sendAt"];

function PreviewDialog({ html, close }: { html: string; close: () => void }) {
  const words = t().compose;
  return (
    <Dialog title={words.preview} close={close}>
      {html.trim() === "" ? (
        <p>{words.noHtml}</p>
      ) : (
        <Preview of={html} ask={() => call("POST /api/v1/workspace/preview", { body: { html } })} />
      )}
    </Dialog>
  );
}

/** A fault of one of several stands at their field, and says which it is. */
async function nameFaults<Answer>(answer: Promise<Answer>, { values, files }: Draft): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const items = error.items.map((item) => {
      const [, list = "", index] = /^(\w+)(?:\[(\d+)\])?/.exec(item.path ?? item.field ?? "") ?? [];
      if (list === "" || index === undefined) return item;
      const which = list === "attachments" ? files[Number(index)]?.name : splitAddresses(values[list])[Number(index)];
      return {
        ...item,
        field: list,
        message: item.message.replace(`${list}[${index}]`, which === undefined ? list : `“${which}”`),
      };
    });
    throw new ApiError(error.status, items, error.retryAfterS);
  }
}
