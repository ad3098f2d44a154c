// The operator's API across the three queues: status, queue, pause and trace.

export { type OperatorDeps, operatorRoutes } from "./routes.ts";
export { recoveryKeyRoutes } from "./recovery-key.ts";
export type { Replication } from "./status.ts";
