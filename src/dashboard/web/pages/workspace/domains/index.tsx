// The pages of domains, by their addresses.

import { useLocation } from "../../../kit.ts";
import { Domain } from "./domain.tsx";
import { Domains } from "./list.tsx";

/** /dashboard/w/:workspace/domains/ID */
export function DomainPages() {
  const [id = ""] = useLocation().path.split("/").slice(5);
  return id === "" ? <Domains /> : <Domain key={id} id={id} />;
}
