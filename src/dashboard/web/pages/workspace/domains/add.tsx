// The form that adds a domain.

import { call, Field, Form, invalidate, t, useForm } from "../../../kit.ts";

interface AddProps {
  /** Gets the id of the new domain. */
  added: (id: string) => void;
  cancel?: () => void;
}

export function AddDomainForm({ added, cancel }: AddProps) {
  const words = t().domain;
  const form = useForm(async ({ domain = "" }) => {
    const { data } = await call("POST /api/v1/domains", { body: { domain: domain.trim() } });
    invalidate("/api/v1/domains");
    added(data.id);
  });
  return (
    <Form state={form} action={words.add} {...(cancel === undefined ? {} : { cancel })}>
      <Field name="domain" label={words.name} hint={words.nameHint} autoComplete="off" inputMode="text" />
    </Form>
  );
}
