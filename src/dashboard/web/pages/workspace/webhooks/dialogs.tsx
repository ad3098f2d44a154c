// What is done to a webhook in a dialog: edit, disable, change the secret, delete.

import {
  ApiError,
  call,
  ConfirmDialog,
  type Data,
  Dialog,
  Form,
  invalidate,
  Select,
  showToast,
  t,
  useForm,
} from "../../../kit.ts";
import { readWebhook, WEBHOOKS, WebhookFields } from "./fields.tsx";

interface DialogProps {
  webhook: Data<"GET /api/v1/webhooks/:id">;
  close: () => void;
}

export function EditDialog({ webhook, close }: DialogProps) {
  const { id, url } = webhook;
  const form = useForm(async (values) => {
    const { url: wanted, ...body } = readWebhook(values);
    // The same address again would end the count of its failures.
    const change = wanted === url ? body : { ...body, url: wanted };
    await call("PATCH /api/v1/webhooks/:id", { params: { id }, body: change });
    invalidate(WEBHOOKS);
    showToast(t().common.saved);
    close();
  });
  return (
    <Dialog title={t().webhooks.editTitle} close={close}>
      <Form state={form} action={t().common.save} cancel={close}>
        <WebhookFields {...webhook} />
      </Form>
    </Dialog>
  );
}

export function DisableDialog({ webhook: { id }, close }: DialogProps) {
  const words = t().webhooks;
  return (
    <ConfirmDialog title={words.disableTitle} action={words.disable} run={() => setEnabled(id, false)} close={close}>
      <p>{words.disableText}</p>
    </ConfirmDialog>
  );
}

export async function setEnabled(id: string, enabled: boolean): Promise<void> {
  await call("PATCH /api/v1/webhooks/:id", { params: { id }, body: { enabled } });
  invalidate(WEBHOOKS);
  showToast(enabled ? t().webhooks.enabledNow : t().webhooks.disabledNow);
}

export function RotateDialog({ webhook: { id }, made, close }: DialogProps & { made: (secret: string) => void }) {
  const words = t().webhooks;
  const form = useForm(async ({ graceHours = "24" }) => {
    const body = { graceHours: Number(graceHours) };
    const { data } = await call("POST /api/v1/webhooks/:id/rotate-secret", { params: { id }, body });
    close();
    made(data.secret);
  });
  return (
    <Dialog title={words.rotateTitle} close={close}>
      <Form state={form} action={words.rotate} look="danger" cancel={close}>
        <p>{words.rotateText}</p>
        <Select
          name="graceHours"
          label={words.grace}
          value="24"
          options={[
            { value: "24", label: words.graceDay },
            { value: "168", label: words.graceWeek },
            { value: "0", label: words.graceNone },
          ]}
        />
      </Form>
    </Dialog>
  );
}

export function DeleteDialog({ webhook: { id }, close, deleted }: DialogProps & { deleted: () => void }) {
  const words = t().webhooks;
  const run = async () => {
    try {
      await call("DELETE /api/v1/webhooks/:id", { params: { id } });
    } catch (error) {
      // Somebody else, or another tab, was first.
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
    showToast(words.deleted);
    deleted();
  };
  return (
    <ConfirmDialog title={words.deleteTitle} action={words.delete} run={run} close={close}>
      <p>{words.deleteText}</p>
    </ConfirmDialog>
  );
}
