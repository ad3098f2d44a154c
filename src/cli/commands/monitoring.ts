// `pombo monitoring rules` and `pombo monitoring dashboard`: what Prometheus and Grafana need to watch this version.

import dashboard from "../../../monitoring/grafana-dashboard.json";
import rules from "../../../monitoring/prometheus-rules.yml" with { type: "text" };
import type { Command } from "../framework/definition.ts";

export const MONITORING_COMMANDS: readonly Command[] = [
  {
    name: "monitoring rules",
    arguments: [],
    options: {},
    about: "Print alerting rules for Prometheus, in YAML: pombo monitoring rules > /etc/prometheus/pombo.rules.yml",
    run: (_, terminal) => terminal.out(String(rules).trimEnd()),
  },
  {
    name: "monitoring dashboard",
    arguments: [],
    options: {},
    about: "Print a dashboard for Grafana, in JSON, to be imported there.",
    run: (_, terminal) => terminal.out(JSON.stringify(dashboard, null, 2)),
  },
];
