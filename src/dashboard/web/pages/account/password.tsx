// The person's password.

import { Button, call, Dialog, Field, Form, me, showToast, t, takeMe, useForm, useState } from "../../kit.ts";
import { Factor } from "./factor.tsx";

export function Password() {
  const [isOpen, setOpen] = useState(false);
  const words = t().account;
  const hasPassword = me.value?.factors.password === true;
  return (
    <Factor
      icon="shield"
      title={words.passwordTitle}
      state={hasPassword ? words.hasPassword : words.noPassword}
      actions={<Button onClick={() => setOpen(true)}>{hasPassword ? words.changePassword : words.setPassword}</Button>}
    >
      {isOpen && <SetPassword close={() => setOpen(false)} />}
    </Factor>
  );
}

function SetPassword({ close }: { close: () => void }) {
  const words = t().account;
  const form = useForm(async ({ password = "" }) => {
    await takeMe((await call("PUT /api/v1/auth/password", { body: { password } })).data);
    close();
    showToast(t().account.passwordSet);
  });
  return (
    <Dialog title={words.setPassword} close={close}>
      <Form state={form} action={t().common.save} cancel={close}>
        <input type="hidden" name="username" autoComplete="username" value={me.value?.user.email} />
        <Field
          name="password"
          type="password"
          label={words.newPassword}
          hint={me.value?.factors.totp === true ? words.passwordHintTotp : words.passwordHint}
          autoComplete="new-password"
          isFocused
          required
        />
        <p class="hint">{words.endsOthers}</p>
      </Form>
    </Dialog>
  );
}
