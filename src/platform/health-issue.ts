/** Why a component does not work at the moment, for the operator. */
export interface HealthIssue {
  component:
    | "database"
    | "disk"
    | "worker"
    | "dns"
    | "egress"
    | "relay"
    | "replication"
    | "delivery"
    | "sms"
    | "clock"
    | "tls"
    | "standby";
  /** For SMS: the route. */
  about?: string;
  /** Tells issues of one component apart that can be there at the same time. */
  kind?: string;
  /** One sentence or two: what is wrong, and what to do or what happens by itself. */
  reason: string;
  /** Unix ms. */
  since: number;
  /** Requests can still be sent: /ready reports the issue, and the instance is ready. */
  isAdvisory?: true;
}

/** Whether it can accept and send in spite of these. */
export function isReadyWith(issues: readonly HealthIssue[]): boolean {
  return issues.every(({ isAdvisory }) => isAdvisory === true);
}
