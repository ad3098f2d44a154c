// Fields of forms, with a label, a hint and the API's errors.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { ErrorText } from "./error-text.tsx";
import { useFieldErrors } from "./form.tsx";

interface Described {
  name: string;
  label: string;
  hint?: ComponentChildren;
}

function useDescription({ name, hint }: Omit<Described, "label">) {
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

type FieldProps = Described & {
  type?: "text" | "email" | "password" | "search" | "tel" | "date" | "datetime-local";
  defaultValue?: string;
  autoComplete?: string;
  inputMode?: "text" | "numeric" | "email";
  placeholder?: string;
  required?: boolean;
  isFocused?: boolean;
  /** Several lines. */
  rows?: number;
  onInput?: (value: string) => void;
};

export function Field({ name, label, hint, type = "text", isFocused = false, rows, onInput, ...rest }: FieldProps) {
  const { id, attributes, notes } = useDescription({ name, hint });
  const [isShown, setShown] = useState(false);
  const place = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFocused) place.current?.focus();
  }, []);
  // Apart: the types know an input by the one type that is written out.
  const typed: object = { type: isShown ? "text" : type };
  const input = (
    <input
      {...rest}
      {...attributes}
      ref={place}
      {...typed}
      class="input"
      onInput={(event) => onInput?.(event.currentTarget.value)}
    />
  );
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {rows !== undefined ? (
        <textarea {...attributes} class="input" rows={rows} defaultValue={rest.defaultValue} dir="auto" />
      ) : type === "password" ? (
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
