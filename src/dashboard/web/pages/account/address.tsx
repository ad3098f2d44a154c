// A person whose address is not confirmed has a link mailed to it.

import { Button, call, ErrorNotice, me, Notice, refreshMe, showToast, t, useForm } from "../../kit.ts";

export function UnprovedAddress() {
  const words = t().account;
  const form = useForm(async () => {
    const { data } = await call("POST /api/v1/auth/email-link");
    if (data.requested) return showToast(words.addressMailed);
    // Confirmed meanwhile, in another tab, or too many were asked for.
    await refreshMe();
    if (me.value?.user.emailVerified === false) showToast(words.addressEnough, "bad");
  });
  return (
    <Notice>
      <p>{words.addressUnproved}</p>
      <Button icon="mail" isBusy={form.isBusy} onClick={() => form.submit({})}>
        {words.proveAddress}
      </Button>
      {form.error !== null && <ErrorNotice error={form.error} />}
    </Notice>
  );
}
