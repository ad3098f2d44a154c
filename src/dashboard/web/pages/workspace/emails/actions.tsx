// The buttons of an email: try it now, change its time, cancel it, copy it.

import {
  Button,
  call,
  Checkbox,
  ConfirmDialog,
  CopyButton,
  type Data,
  Dialog,
  ErrorNotice,
  Field,
  Form,
  invalidate,
  showToast,
  t,
  useForm,
  useState,
} from "../../../kit.ts";
import { writeSendCurl } from "../parts/curl.ts";
import { may } from "../parts/rights.ts";
import { findStatus } from "../parts/status.tsx";

const EMAILS = "/api/v1/emails";

type EmailRecord = Data<"GET /api/v1/emails/:id">;

interface DialogProps {
  email: EmailRecord;
  close: () => void;
}

/** The choice of a dialog, where there are others. */
const toQuery = ({ group }: Record<string, string>) => (group === "true" ? { group } : {}) as { group?: "true" };

export function EmailActions({ email }: { email: EmailRecord }) {
  const words = t().email;
  const [open, setOpen] = useState<"cancel" | "reschedule" | null>(null);
  const close = () => setOpen(null);
  const retry = useForm(async () => {
    await call("POST /api/v1/emails/:id/retry", { params: { id: email.id } });
    invalidate(EMAILS);
    showToast(words.retried);
  });
  if (!may("send")) return null;
  const status = findStatus(email.id, email.status);
  const isWaiting = ["scheduled", "queued", "delivery_delayed"].includes(status);
  return (
    <div class="actions">
      {status === "delivery_delayed" && (
        <Button look="primary" isBusy={retry.isBusy} onClick={() => retry.submit({})}>
          {words.retry}
        </Button>
      )}
      {status === "scheduled" && <Button onClick={() => setOpen("reschedule")}>{words.reschedule}</Button>}
      {isWaiting && <Button onClick={() => setOpen("cancel")}>{words.cancel}</Button>}
      <CopyButton
        label={email.attachments.length === 0 ? words.curl : words.curlWithout}
        text={writeSendCurl(location.origin, null, email)}
      />
      {retry.error !== null && <ErrorNotice error={retry.error} />}
      {open === "cancel" && <CancelDialog email={email} close={close} />}
      {open === "reschedule" && <RescheduleDialog email={email} close={close} />}
    </div>
  );
}

function CancelDialog({ email, close }: DialogProps) {
  const words = t().email;
  const cancel = async (values: Record<string, string>) => {
    await call("POST /api/v1/emails/:id/cancel", { params: { id: email.id }, query: toQuery(values) });
    invalidate(EMAILS);
    showToast(words.canceled);
  };
  return (
    <ConfirmDialog title={words.cancelTitle} action={words.cancel} decline={words.keep} run={cancel} close={close}>
      <p>{words.cancelText}</p>
      <GroupChoice email={email} />
    </ConfirmDialog>
  );
}

function RescheduleDialog({ email, close }: DialogProps) {
  const words = t().email;
  const form = useForm(async (values) => {
    const at = new Date(values["sendAt"] ?? "");
    // The API tells what is wrong with an empty field.
    const sendAt = Number.isNaN(at.getTime()) ? "" : at.toISOString();
    await call("PATCH /api/v1/emails/:id", { params: { id: email.id }, query: toQuery(values), body: { sendAt } });
    invalidate(EMAILS);
    showToast(words.rescheduled);
    close();
  });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Dialog title={words.reschedule} close={close}>
      <Form state={form} action={words.reschedule} cancel={close}>
        <Field
          name="sendAt"
          type="datetime-local"
          label={words.sendAt}
          hint={words.sendAtHint(zone)}
          defaultValue={toLocalTime(email.sendAt ?? new Date().toISOString())}
          isFocused
        />
        <GroupChoice email={email} />
      </Form>
    </Dialog>
  );
}

function GroupChoice({ email: { recipients } }: { email: EmailRecord }) {
  return recipients === null ? null : <Checkbox name="group" label={t().email.forGroup} />;
}

/** As the browser's own field takes it: the time on the person's clock, without its zone. */
function toLocalTime(iso: string): string {
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
