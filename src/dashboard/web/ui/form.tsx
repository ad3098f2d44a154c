// Forms: the browser keeps what is typed, and each error of the API stands at its field.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type ErrorItem } from "../api/client.ts";
import { t } from "../i18n/index.ts";
import { Button } from "./button.tsx";
import { ErrorNotice } from "./page.tsx";

export type FormValues = Record<string, string>;

export interface FormState {
  isBusy: boolean;
  error: ApiError | null;
  submit: (values: FormValues) => void;
}

/** `work` throws ApiError for what the form shows. */
export function useForm(work: (values: FormValues) => Promise<void>): FormState {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (values: FormValues) => {
    setBusy(true);
    setError(null);
    try {
      await work(values);
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, submit: (values) => void run(values) };
}

interface FormContext {
  error: ApiError | null;
  /** The fields that are there, so that other errors stand above the buttons. */
  fields: Set<string>;
}

const Context = createContext<FormContext>({ error: null, fields: new Set() });

/** The errors of a field. */
export function useFieldErrors(name: string): ErrorItem[] {
  const { error, fields } = useContext(Context);
  fields.add(name);
  return error?.items.filter((item) => item.field === name) ?? [];
}

interface FormProps {
  state: FormState;
  children: ComponentChildren;
  label?: string;
  /** The words on the button that submits it, below the fields; without them a child is the button. */
  action?: string;
  look?: "primary" | "danger";
  /** Gives it a second button, which leads out of it. */
  cancel?: () => void;
  /** The words on that one, where "cancel" is what the form does. */
  cancelWords?: string | undefined;
}

export function Form({ state, children, label, action, look = "primary", cancel, cancelWords }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const fields = useRef(new Set<string>());
  const { error } = state;
  useEffect(() => {
    if (error !== null) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);
  const rest = error?.items.filter(({ field }) => field === undefined || !fields.current.has(field)) ?? [];
  const submit = (event: Event) => {
    event.preventDefault();
    if (form.current === null || state.isBusy) return;
    const values = Array.from(new FormData(form.current), ([name, value]) => [
      name,
      typeof value === "string" ? value : "",
    ]);
    state.submit(Object.fromEntries(values) as FormValues);
  };
  return (
    <Context.Provider value={{ error, fields: fields.current }}>
      <form ref={form} class="form" onSubmit={submit} noValidate aria-label={label}>
        {children}
        {error !== null && rest.length > 0 && (
          <ErrorNotice error={new ApiError(error.status, rest, error.retryAfterS)} />
        )}
        {action !== undefined && (
          <div class="form-actions">
            {cancel !== undefined && <Button onClick={cancel}>{cancelWords ?? t().common.cancel}</Button>}
            <Button type="submit" look={look} isBusy={state.isBusy}>
              {action}
            </Button>
          </div>
        )}
      </form>
    </Context.Provider>
  );
}
