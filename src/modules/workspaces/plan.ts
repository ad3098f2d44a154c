import { validationError } from "../../platform/http/errors.ts";

/** Throws 422 with the names that there are. */
export function requirePlan(name: string, planNames: readonly string[]): void {
  if (planNames.includes(name)) return;
  throw validationError([{ path: ["plan"], message: `must be one of the configured plans: ${planNames.join(", ")}` }]);
}
