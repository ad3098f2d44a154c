import { t } from "../i18n/index.ts";
import { Dialog } from "../ui/dialog.tsx";
import { listPages } from "./navigation.ts";

export function KeysHelp({ close }: { close: () => void }) {
  const words = t().shell;
  return (
    <Dialog title={words.keys} close={close}>
      <dl class="keys">
        <Row keys={["Ctrl", "K"]} meaning={words.keyPalette} joint="+" />
        {listPages().map((item) => (
          <Row
            key={item.chord}
            keys={["g", item.chord]}
            meaning={words.keyGo(item.getTitle())}
            joint={words.chordJoint}
          />
        ))}
        <Row keys={["?"]} meaning={words.keyHelp} />
        <Row keys={["Esc"]} meaning={words.keyClose} />
      </dl>
    </Dialog>
  );
}

function Row({ keys, meaning, joint = "" }: { keys: string[]; meaning: string; joint?: string }) {
  return (
    <div>
      <dt>
        {keys.map((key, index) => (
          <span key={key}>
            {index > 0 && <span class="soft"> {joint} </span>}
            <kbd>{key}</kbd>
          </span>
        ))}
      </dt>
      <dd>{meaning}</dd>
    </div>
  );
}
