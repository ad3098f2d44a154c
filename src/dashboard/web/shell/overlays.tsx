// What lies over every page: palette, help, menu, the proof of who it is, toasts and the banner of a server that is away.

import { useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isAway } from "../api/client.ts";
import { t } from "../i18n/index.ts";
import { dismissToast, showToast, toasts } from "../state/toasts.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { overlay } from "./keyboard.ts";
import { KeysHelp } from "./keys-help.tsx";
import { Palette } from "./palette.tsx";
import { ProofDialog } from "./proof.tsx";
import { Menu } from "./shell.tsx";

export function Overlays() {
  const close = () => void (overlay.value = null);
  return (
    <>
      {overlay.value === "palette" && <Palette isForWorkspaces={false} close={close} />}
      {overlay.value === "workspaces" && <Palette isForWorkspaces close={close} />}
      {overlay.value === "keys" && <KeysHelp close={close} />}
      {overlay.value === "menu" && <Menu close={close} />}
      <ProofDialog />
      <AwayBanner />
      <Toasts />
    </>
  );
}

function AwayBanner() {
  const wasAway = useRef(false);
  useSignalEffect(() => {
    if (wasAway.current && !isAway.value) showToast(t().shell.isBack);
    wasAway.current = isAway.value;
  });
  return (
    <div class="away" role="alert" hidden={!isAway.value}>
      {isAway.value && (
        <>
          <span class="spinner" aria-hidden="true" />
          <p>{t().shell.away}</p>
        </>
      )}
    </div>
  );
}

function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          <Icon name={tone === "good" ? "check" : "alert"} />
          <p>{text}</p>
          <Button look="bare" icon="close" aria-label={t().shell.dismiss} onClick={() => dismissToast(id)} />
        </div>
      ))}
    </div>
  );
}
