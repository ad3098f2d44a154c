// Schemathesis' report of a run: one JSON object a line, one line a scenario with its requests and answers.

/** JSON whose shape the caller knows from Schemathesis. */
// oxlint-disable-next-line no-explicit-any
type Json = any;

export interface Report {
  /** By operation, as in `GET /api/v1/emails/{id}`: how often it was answered with each status. */
  statuses: Map<string, Map<number, number>>;
  requests: number;
  /** It went through all its phases. */
  isWhole: boolean;
}

export function parseReport(text: string): Report {
  const report: Report = { statuses: new Map(), requests: 0, isWhole: false };
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const event: Json = JSON.parse(line);
    if (event.EngineFinished?.stop_reason === "completed") report.isWhole = true;
    const recorder = event.ScenarioFinished?.recorder;
    for (const [id, interaction] of Object.entries<Json>(recorder?.interactions ?? {})) {
      const status = interaction?.response?.status_code;
      const request = recorder.cases[id]?.value;
      if (typeof status !== "number" || request === undefined) continue;
      report.requests += 1;
      const route = `${request.method} ${request.path}`;
      const counts = report.statuses.get(route) ?? new Map<number, number>();
      report.statuses.set(route, counts.set(status, (counts.get(status) ?? 0) + 1));
    }
  }
  return report;
}

/** Whether any answer was a success. */
export function hasSuccess(report: Report, route: string): boolean {
  return [...(report.statuses.get(route)?.keys() ?? [])].some((status) => status >= 200 && status < 300);
}

/** `202 ×14, 422 ×3`. */
export function statusesOf(report: Report, route: string): string {
  const counts = [...(report.statuses.get(route) ?? [])].toSorted(([a], [b]) => a - b);
  return counts.map(([status, count]) => `${status} ×${count}`).join(", ") || "never called";
}
