// The frame of the pages before one is signed in: a card in the middle, and the language below.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { LANGUAGE_NAMES, LANGUAGES, t } from "../../i18n/index.ts";
import { language, setLanguage } from "../../state/preferences.ts";
import { Logo } from "../../ui/icon.tsx";
import { setTitle } from "../../ui/title.ts";

export function Frame({
  title,
  intro,
  isWide = false,
  children,
}: {
  title: string;
  intro?: ComponentChildren;
  /** For more than a form. */
  isWide?: boolean;
  children?: ComponentChildren;
}) {
  useEffect(() => setTitle(title), [title]);
  return (
    <div class="entrance">
      <header>
        <Logo size={30} />
        <span>pombo</span>
      </header>
      <main id="content" tabIndex={-1} class={isWide ? "card wide" : "card"}>
        <h1>{title}</h1>
        {intro !== undefined && <p class="intro">{intro}</p>}
        {children}
      </main>
      <footer>
        <select
          class="language"
          aria-label={t().shell.language}
          value={language.value}
          onChange={(event) => void setLanguage(LANGUAGES.find((each) => each === event.currentTarget.value) ?? null)}
        >
          {LANGUAGES.map((each) => (
            <option key={each} value={each} lang={each} selected={each === language.value}>
              {LANGUAGE_NAMES[each]}
            </option>
          ))}
        </select>
      </footer>
    </div>
  );
}
