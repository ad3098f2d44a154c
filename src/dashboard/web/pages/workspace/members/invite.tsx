// Inviting somebody: an address and a role, then a link to hand over.

import { Button, call, CodeBlock, type Data, Dialog, Field, Form, invalidate, t, useForm } from "../../../kit.ts";
import { may } from "../parts/rights.ts";
import { ROLES } from "./role-select.tsx";
import { isolate } from "../parts/words.tsx";

const INVITATIONS = "/api/v1/workspace/invitations";

export type MadeInvitation = Data<"POST /api/v1/workspace/invitations">;

export function InviteDialog({ made, close }: { made: (invitation: MadeInvitation) => void; close: () => void }) {
  const words = t().invitations;
  const people = t().members;
  const form = useForm(async ({ email = "", role }) => {
    const wanted = ROLES.find((each) => each === role) ?? "member";
    const { data } = await call("POST /api/v1/workspace/invitations", { body: { email: email.trim(), role: wanted } });
    invalidate(INVITATIONS);
    close();
    made(data);
  });
  return (
    <Dialog title={people.invite} close={close}>
      <Form state={form} action={words.send} cancel={close}>
        <Field name="email" type="email" label={words.email} autoComplete="off" isFocused />
        <fieldset class="choices">
          <legend>{people.role}</legend>
          {ROLES.filter((role) => role !== "owner" || may("own")).map((role) => (
            <label key={role} class="choice">
              <input type="radio" name="role" value={role} defaultChecked={role === "member"} />
              <strong>{t().roles[role]}</strong>
              <span class="small soft">{people[`${role}Text`]}</span>
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}

export function LinkDialog({
  invitation: { email, url, mailed },
  close,
}: {
  invitation: MadeInvitation;
  close: () => void;
}) {
  const words = t().invitations;
  return (
    <Dialog title={words.madeTitle(isolate(email))} close={close} isFirm>
      <p>{mailed ? words.madeMailed : words.madeCopy}</p>
      <CodeBlock code={url} />
      <div class="form-actions">
        <Button look="primary" onClick={close}>
          {t().common.close}
        </Button>
      </div>
    </Dialog>
  );
}
