// What the command palette offers.

import { LANGUAGE_NAMES, LANGUAGES, t } from "../i18n/index.ts";
import { setLanguage, setTheme } from "../state/preferences.ts";
import { me, workspaceId, workspacePath } from "../state/session.ts";
import { signOut } from "../state/sign-out.ts";
import type { IconName } from "../ui/icon.tsx";
import { overlay } from "./keyboard.ts";
import { listPages } from "./navigation.ts";

export interface Command {
  key: string;
  icon: IconName;
  title: string;
  /** At the right: a key, a role. */
  note?: string;
  /** A page; else what is done. */
  path?: string;
  run?: () => void;
}

export function listCommands(isForWorkspaces: boolean): Command[] {
  const workspaces = listWorkspaces();
  return isForWorkspaces ? workspaces : [...listPageCommands(), ...workspaces, ...listActions()];
}

function listPageCommands(): Command[] {
  if (workspaceId.value === null) return [];
  return listPages().map(({ page, icon, chord, getTitle }) => ({
    key: `page ${page}`,
    icon,
    title: getTitle(),
    note: `g ${chord}`,
    path: workspacePath(page),
  }));
}

function listWorkspaces(): Command[] {
  const workspaces = (me.value?.workspaces ?? []).map(({ id, name, role }): Command => {
    return { key: `workspace ${id}`, icon: "right", title: name, note: t().roles[role], path: workspacePath("", id) };
  });
  if (me.value?.user.isOperator !== true) return workspaces;
  return [...workspaces, { key: "new", icon: "plus", title: t().entrance.newWorkspace, path: "/dashboard/new" }];
}

function listActions(): Command[] {
  const words = t().shell;
  const themes = (["system", "light", "dark"] as const).map((each): Command => {
    return {
      key: `theme ${each}`,
      icon: "sun",
      title: `${words.theme}: ${words.themes[each]}`,
      run: () => setTheme(each),
    };
  });
  const languages = LANGUAGES.map((each): Command => {
    const title = `${words.language}: ${LANGUAGE_NAMES[each]}`;
    return { key: `language ${each}`, icon: "globe", title, run: () => void setLanguage(each) };
  });
  return [
    { key: "account", icon: "person", title: words.account, path: "/dashboard/account" },
    ...themes,
    ...languages,
    { key: "docs", icon: "list", title: words.apiDocs, run: () => location.assign("/docs") },
    { key: "keys", icon: "menu", title: words.keys, note: "?", run: () => void (overlay.value = "keys") },
    { key: "out", icon: "out", title: words.signOut, run: () => void signOut() },
  ];
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ADDRESS = /^[^\s@]+@[^\s@]+$/;
/** As people write one: +258 84 123 4567. */
const NUMBER = /^\+[\d ]{7,24}$/;

/** Those whose title has all the words, after what an id or an address leads to. */
export function findCommands(all: Command[], words: string): Command[] {
  const asked = words.trim();
  const fitting = all.filter(({ title }) =>
    fold(asked)
      .split(/\s+/)
      .every((word) => fold(title).includes(word)),
  );
  if (workspaceId.value === null) return fitting;
  const tell = t().shell;
  if (ID.test(asked))
    return [
      { key: "id", icon: "mail", title: tell.goToEmail(asked), path: workspacePath(`emails/${asked}`) },
      { key: "sms", icon: "chat", title: tell.goToSms(asked), path: workspacePath(`sms/${asked}`) },
    ];
  const to = encodeURIComponent(asked.replaceAll(" ", ""));
  if (ADDRESS.test(asked))
    return [
      { key: "address", icon: "mail", title: tell.findAddress(asked), path: workspacePath(`emails?to=${to}`) },
      ...fitting,
    ];
  if (!NUMBER.test(asked)) return fitting;
  return [
    { key: "number", icon: "chat", title: tell.findNumber(asked), path: workspacePath(`sms?to=${to}`) },
    ...fitting,
  ];
}

/** Without accents and capitals: "inicio" finds "Início". */
function fold(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
