// One way to sign in: its name, its state, and what can be done about it.

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "../../kit.ts";

interface FactorProps {
  icon: IconName;
  title: string;
  state: ComponentChildren;
  actions: ComponentChildren;
  children?: ComponentChildren;
}

export function Factor({ icon, title, state, actions, children }: FactorProps) {
  return (
    <section class="factor">
      <Icon name={icon} size={22} />
      <div class="factor-head">
        <h3>{title}</h3>
        <p class="soft">{state}</p>
      </div>
      <div class="actions">{actions}</div>
      {children !== undefined && <div class="factor-body">{children}</div>}
    </section>
  );
}
