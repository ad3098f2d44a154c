/** Which methods each path knows, to tell "no such path" from "not this method" (Elysia answers 404 to both). */
export function methodTable(routes: readonly { method: string; path: string }[]): (path: string) => string[] {
  const byPattern = new Map<string, string[]>();
  for (const { method, path } of routes) {
    const pattern = path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/:[^/]+/g, "[^/]+");
    byPattern.set(pattern, [...(byPattern.get(pattern) ?? []), method]);
  }
  const table = [...byPattern].map(([pattern, methods]) => ({ pattern: new RegExp(`^${pattern}/?$`), methods }));
  return (path) => [...new Set(table.filter((entry) => entry.pattern.test(path)).flatMap((entry) => entry.methods))];
}
