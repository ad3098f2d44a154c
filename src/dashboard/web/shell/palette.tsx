// The command palette: pages, actions and workspaces by their names, and what an id or address leads to.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { t } from "../i18n/index.ts";
import { workspaceId } from "../state/session.ts";
import { Icon } from "../ui/icon.tsx";
import { type Command, findCommands, listCommands } from "./commands.ts";

/** A click beside it closes it; the types do not know the attribute yet. */
const LIGHT: object = { closedby: "any" };

export function Palette({ isForWorkspaces, close }: { isForWorkspaces: boolean; close: () => void }) {
  const { route } = useLocation();
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const all = useMemo(() => listCommands(isForWorkspaces), [isForWorkspaces, workspaceId.value]);
  const found = findCommands(all, words);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const run = (index: number) => {
    const command = found[index];
    if (command === undefined) return;
    close();
    if (command.path !== undefined) route(command.path);
    else command.run?.();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      const next = (chosen + step + found.length) % found.length;
      setChosen(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  };
  return (
    <dialog ref={dialog} class="dialog palette" aria-label={t().shell.palette} onCancel={close} {...LIGHT}>
      <div class="palette-field">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
          aria-label={t().shell.palette}
          placeholder={isForWorkspaces ? t().shell.switchWorkspace : t().shell.paletteHint}
          value={words}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
      </div>
      <Options id={id} commands={found} chosen={chosen} choose={setChosen} run={run} />
      {found.length === 0 && (
        <p class="palette-nothing" role="status">
          {t().shell.paletteNothing}
        </p>
      )}
    </dialog>
  );
}

interface OptionsProps {
  id: string;
  commands: Command[];
  chosen: number;
  choose: (index: number) => void;
  run: (index: number) => void;
}

/** The keyboard is the field's: the list shows what it chose, and takes the mouse. */
function Options({ id, commands, chosen, choose, run }: OptionsProps) {
  return (
    <ul id={`${id}-list`} role="listbox" aria-label={t().shell.palette} class="palette-list">
      {commands.map((command, index) => (
        // oxlint-disable-next-line click-events-have-key-events
        <li
          key={command.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === chosen}
          onClick={() => run(index)}
          onMouseMove={() => choose(index)}
        >
          <Icon name={command.icon} />
          <bdi class="command-title">{command.title}</bdi>
          {command.note !== undefined && <span class="soft small">{command.note}</span>}
        </li>
      ))}
    </ul>
  );
}
