// The dashboard's first script: it starts the app, and holds what all pages share.

import { render } from "preact";
import { App } from "./app.tsx";
import { startPreferences } from "./state/preferences.ts";

export * from "./kit.ts";

await startPreferences();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
