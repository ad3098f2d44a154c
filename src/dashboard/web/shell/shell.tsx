// What surrounds the pages of a signed-in person: navigation at the side, on a phone a bar at the bottom.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { t } from "../i18n/index.ts";
import { me, workspace, workspaceId, workspacePath } from "../state/session.ts";
import { signOut } from "../state/sign-out.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, Logo } from "../ui/icon.tsx";
import { overlay } from "./keyboard.ts";
import { BAR_ITEMS, isCurrent, listPages, type NavigationItem } from "./navigation.ts";

const phone = matchMedia("(max-width: 820px)");
const isPhone = signal(phone.matches);
phone.addEventListener("change", () => void (isPhone.value = phone.matches));

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <div class="shell">
      <header class="side">
        <a href="/dashboard" class="brand">
          <Logo />
          <span>pombo</span>
        </a>
        <WorkspaceButton />
        <button type="button" class="search" onClick={() => void (overlay.value = "palette")}>
          <Icon name="search" />
          <span>{t().shell.search}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <PageLinks items={listPages()} />
        <Foot />
      </header>
      <header class="top">
        <a href="/dashboard" class="brand">
          <Logo />
          <span class="unseen">pombo</span>
        </a>
        <WorkspaceButton />
        <Button
          look="bare"
          icon="search"
          aria-label={t().shell.palette}
          onClick={() => void (overlay.value = "palette")}
        />
      </header>
      {/* Where it scrolls by itself the keyboard must reach it. */}
      {/* oxlint-disable-next-line no-noninteractive-tabindex */}
      <main id="content" tabIndex={isPhone.value ? 0 : -1}>
        {children}
      </main>
      <div class="bar">
        {workspaceId.value !== null && <PageLinks items={BAR_ITEMS} />}
        <button type="button" class="page-link" aria-haspopup="dialog" onClick={() => void (overlay.value = "menu")}>
          <Icon name="menu" />
          {t().shell.menu}
        </button>
      </div>
    </div>
  );
}

function WorkspaceButton() {
  const name = workspace.value?.name ?? t().shell.noWorkspace;
  return (
    <button
      type="button"
      class="workspace-button"
      title={t().shell.switchWorkspace}
      onClick={() => void (overlay.value = "workspaces")}
    >
      <span class="initial" aria-hidden="true">
        {Array.from(name)[0]?.toUpperCase()}
      </span>
      <span class="workspace-name">{name}</span>
      <Icon name="down" size={16} />
    </button>
  );
}

function PageLinks({ items, followed }: { items: NavigationItem[]; followed?: () => void }) {
  const { path } = useLocation();
  if (workspaceId.value === null) return <div class="page-links" />;
  return (
    <nav class="page-links" aria-label={t().shell.navigation}>
      {items.map((item) => (
        <a
          key={item.page}
          class="page-link"
          href={workspacePath(item.page)}
          aria-current={isCurrent(path, item) ? "page" : undefined}
          onClick={followed}
        >
          <Icon name={item.icon} />
          {item.getTitle()}
        </a>
      ))}
    </nav>
  );
}

function Foot({ followed }: { followed?: () => void }) {
  const { path } = useLocation();
  const user = me.value?.user;
  return (
    <div class="side-foot">
      {me.value?.instance.isSandbox === true && (
        <a class="sandbox-note" href="/sandbox">
          {t().shell.sandbox}
        </a>
      )}
      <a class="page-link" href="/docs">
        <Icon name="list" />
        {t().shell.apiDocs}
      </a>
      <div class="person">
        <a
          class="page-link"
          href="/dashboard/account"
          aria-current={path === "/dashboard/account" ? "page" : undefined}
          onClick={followed}
        >
          <Icon name="person" />
          <span class="person-name">{user?.name}</span>
        </a>
        <Button
          look="bare"
          icon="out"
          aria-label={t().shell.signOut}
          title={t().shell.signOut}
          onClick={() => void signOut()}
        />
      </div>
    </div>
  );
}

/** On a phone: all pages, and what stands at the foot of the side elsewhere. */
export function Menu({ close }: { close: () => void }) {
  return (
    <Dialog title={t().shell.menu} close={close}>
      <div class="menu">
        <PageLinks items={listPages()} followed={close} />
        <Foot followed={close} />
      </div>
    </Dialog>
  );
}
