// Changes a role where it stands in a table; one that the server refuses goes back to what it was.

import { ApiError, ErrorNotice, t, useState } from "../../../kit.ts";

export const ROLES = ["owner", "admin", "member", "viewer"] as const;
export type Role = (typeof ROLES)[number];

interface RoleSelectProps {
  label: string;
  role: Role;
  mayBeOwner: boolean;
  /** Throws ApiError. */
  change: (role: Role) => Promise<void>;
}

export function RoleSelect({ label, role, mayBeOwner, change }: RoleSelectProps) {
  const [wanted, setWanted] = useState<Role | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const choose = async (value: string) => {
    const chosen = ROLES.find((each) => each === value);
    if (chosen === undefined) return;
    setWanted(chosen);
    setError(null);
    try {
      await change(chosen);
    } catch (caught) {
      if (!(caught instanceof ApiError)) throw caught;
      setError(caught);
    } finally {
      setWanted(null);
    }
  };
  return (
    <>
      <select
        class="input compact"
        aria-label={label}
        value={wanted ?? role}
        disabled={wanted !== null}
        onChange={(event) => void choose(event.currentTarget.value)}
      >
        {ROLES.filter((each) => mayBeOwner || each !== "owner").map((each) => (
          <option key={each} value={each}>
            {t().roles[each]}
          </option>
        ))}
      </select>
      {error !== null && <ErrorNotice error={error} />}
    </>
  );
}
