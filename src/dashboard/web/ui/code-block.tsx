import { CopyButton } from "./button.tsx";

/** Lines to copy. */
export function CodeBlock({ code, label }: { code: string; label?: string }) {
  return (
    <div class="code-block">
      <pre class="code">
        <code>{code}</code>
      </pre>
      <CopyButton text={code} {...(label === undefined ? {} : { label })} />
    </div>
  );
}
