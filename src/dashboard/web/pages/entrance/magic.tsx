// Asking for a link to sign in by mail, where the operator allows it.

import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { t } from "../../i18n/index.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, useForm } from "../../ui/form.tsx";
import { Notice } from "../../ui/page.tsx";

/** The server says so in the shell: nobody is signed in yet. */
const isOffered = () => document.getElementById("app")?.dataset["magicLinks"] !== undefined;

export function MagicLink() {
  const [isOpen, setOpen] = useState(false);
  if (!isOffered()) return null;
  return (
    <>
      <Button icon="mail" onClick={() => setOpen(true)}>
        {t().entrance.mailLink}
      </Button>
      {isOpen && <Ask close={() => setOpen(false)} />}
    </>
  );
}

function Ask({ close }: { close: () => void }) {
  const [isSent, setSent] = useState(false);
  const words = t().entrance;
  const form = useForm(async ({ email = "" }) => {
    await call("POST /api/v1/auth/magic", { body: { email } });
    setSent(true);
  });
  return (
    <Dialog title={words.mailLink} close={close}>
      {isSent ? (
        <Notice tone="good">
          <p>{words.linkMailed}</p>
        </Notice>
      ) : (
        <Form state={form}>
          <Field name="email" type="email" label={words.email} autoComplete="username" isFocused required />
          <Button type="submit" look="primary" isBusy={form.isBusy}>
            {words.mailLink}
          </Button>
        </Form>
      )}
    </Dialog>
  );
}
