import first from "../../migrations/0001_first.sql" with { type: "text" };

/** Every migration in order; the database's `user_version` is how many of them it has. Forward only. */
export const MIGRATIONS: readonly { name: string; sql: string }[] = [{ name: "0001_first.sql", sql: first }];
