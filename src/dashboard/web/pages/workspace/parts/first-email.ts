import { t } from "../../../kit.ts";

interface Domain {
  domain: string;
  status: string;
}

/** A domain that can send now. */
export function isSender({ status }: Pick<Domain, "status">): boolean {
  return status === "verified" || status === "warning";
}

/** The first of them. */
export function findSender<D extends Domain>(domains: D[]): D | undefined {
  return domains.find(isSender);
}

/** An email to oneself; null: no domain can send yet, or nobody is signed in. */
export function buildFirstEmail(domains: Domain[], to: string | undefined) {
  const sender = findSender(domains);
  if (sender === undefined || to === undefined) return null;
  const words = t().home;
  return { from: `pombo@${sender.domain}`, to, subject: words.firstSubject, text: words.firstText };
}
