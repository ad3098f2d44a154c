// Dialogs: the browser's own <dialog>, which keeps the focus inside, closes by Escape and gives the focus back.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { Button } from "./button.tsx";
import { CodeBlock } from "./code-block.tsx";
import { Field } from "./field.tsx";
import { Form, type FormValues, useForm } from "./form.tsx";
import { Notice } from "./page.tsx";

interface DialogProps {
  title: string;
  close: () => void;
  /** Closes by its own button only: what it shows is not shown again. */
  isFirm?: boolean;
  children: ComponentChildren;
}

/** It is open while it is drawn. */
export function Dialog({ title, close, isFirm = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before a field inside takes the focus.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    if (!isFirm) close();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onCancel={cancel}>
      <header>
        <h2 id={id}>{title}</h2>
        {!isFirm && <Button look="bare" icon="close" aria-label={t().common.close} onClick={close} />}
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  children: ComponentChildren;
  /** Of the button that does it. */
  action: string;
  /** The label of the button that closes the dialog and does nothing else, where "Cancel" would be the dialog's own act. */
  decline?: string;
  isDangerous?: boolean;
  /** A word to type first. */
  word?: string;
  /** Throws ApiError; the dialog shows it and stays. */
  run: (values: FormValues) => Promise<void>;
  close: () => void;
}

export function ConfirmDialog(props: ConfirmProps) {
  const { title, children, action, decline, isDangerous = true, word, run, close } = props;
  const form = useForm(async (values) => {
    if (word !== undefined && values["word"] !== word) return;
    await run(values);
    close();
  });
  return (
    <Dialog title={title} close={close}>
      <Form state={form} action={action} look={isDangerous ? "danger" : "primary"} cancel={close} cancelWords={decline}>
        <div class="prose">{children}</div>
        {word !== undefined && <Field name="word" label={t().common.typeToConfirm(word)} autoComplete="off" />}
      </Form>
    </Dialog>
  );
}

interface SecretProps {
  title: string;
  secret: string;
  /** Why to store it, where that is more than that it is shown once. */
  warning?: string;
  /** What to do with it. */
  children?: ComponentChildren;
  close: () => void;
}

/** A secret that is shown once; it is out of the page when the dialog closes. */
export function SecretDialog({ title, secret, warning, children, close }: SecretProps) {
  return (
    <Dialog title={title} close={close} isFirm>
      <Notice tone="slow">
        <p>{warning ?? t().common.shownOnce}</p>
      </Notice>
      <CodeBlock code={secret} />
      {children}
      <div class="form-actions">
        <Button look="primary" onClick={close}>
          {t().common.savedIt}
        </Button>
      </div>
    </Dialog>
  );
}
