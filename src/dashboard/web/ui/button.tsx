import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { Icon, type IconName } from "./icon.tsx";

export type Look = "primary" | "quiet" | "danger" | "bare";

interface ButtonProps extends Omit<ButtonHTMLAttributes, "icon"> {
  look?: Look;
  icon?: IconName;
  /** Its work is running: it stays where it is and cannot be pressed. */
  isBusy?: boolean;
  children?: ComponentChildren;
}

export function Button({ look = "quiet", icon, isBusy = false, children, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={`button ${look}`}
      aria-busy={isBusy}
      disabled={isBusy || rest.disabled === true}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  href,
  look = "quiet",
  icon,
  children,
}: {
  href: string;
  look?: Look;
  icon?: IconName;
  children: ComponentChildren;
}) {
  return (
    <a href={href} class={`button ${look}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </a>
  );
}

const COPIED_MS = 2_000;

/** `label`: what is copied, where several are on a page. `text` as a function: asked when it is pressed. */
export function CopyButton({
  text,
  label,
  look = "quiet",
}: {
  text: string | (() => string);
  label?: string;
  look?: Look;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  const words = label ?? t().common.copy;
  return (
    <Button look={look} icon={isCopied ? "check" : "copy"} onClick={() => void copy()}>
      <span role="status">{isCopied ? t().common.copied : words}</span>
    </Button>
  );
}
