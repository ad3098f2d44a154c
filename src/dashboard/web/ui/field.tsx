// Fields of forms, with a label, a hint and the API's errors.

import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId, useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { ErrorText } from "./error-text.tsx";
import { useFieldErrors } from "./form.tsx";

interface Described {
  name: string;
  label: string;
  hint?: ComponentChildren;
}

function useDescription({ name, hint }: Pick<Described, "name" | "hint">) {
  const id = useId();
  const errors = useFieldErrors(name);
  const describedBy = [hint === undefined ? "" : `${id}-hint`, errors.length === 0 ? "" : `${id}-error`]
    .join(" ")
    .trim();
  const attributes = {
    id,
    name,
    ...(describedBy === "" ? {} : { "aria-describedby": describedBy }),
    ...(errors.length === 0 ? {} : { "aria-invalid": true as const }),
  };
  const notes = (
    <>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {errors.length > 0 && (
        <div class="field-error" id={`${id}-error`}>
          {errors.map((item) => (
            <ErrorText key={item.message} item={item} />
          ))}
        </div>
      )}
    </>
  );
  return { id, attributes, notes };
}

type FieldProps = Described & Omit<InputHTMLAttributes<HTMLInputElement>, "name" | "label">;

export function Field({ name, label, hint, type = "text", ...rest }: FieldProps) {
  const { id, attributes, notes } = useDescription({ name, hint });
  const [isShown, setShown] = useState(false);
  const input = <input {...rest} {...attributes} type={isShown ? "text" : type} class="input" />;
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {type === "password" ? (
        <div class="with-button">
          {input}
          <button type="button" class="button bare" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? t().common.hide : t().common.show}
          </button>
        </div>
      ) : (
        input
      )}
      {notes}
    </div>
  );
}

interface SelectProps extends Described {
  options: { value: string; label: string }[];
  value?: string;
  onChange?: (value: string) => void;
}

export function Select({ name, label, hint, options, value, onChange }: SelectProps) {
  const { id, attributes, notes } = useDescription({ name, hint });
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      <select
        {...attributes}
        class="input"
        defaultValue={value}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
      {notes}
    </div>
  );
}

export function Checkbox({ name, label, hint, checked = false }: Described & { checked?: boolean }) {
  const { id, attributes, notes } = useDescription({ name, hint });
  return (
    <div class="field checkbox">
      <input {...attributes} type="checkbox" value="true" defaultChecked={checked} />
      <label htmlFor={id}>{label}</label>
      {notes}
    </div>
  );
}
