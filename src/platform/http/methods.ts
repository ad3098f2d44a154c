// The methods that the paths of an application know, which Elysia does not tell.

export type MethodTable = ReturnType<typeof createMethodTable>;

export function createMethodTable(routes: readonly { method: string; path: string }[]) {
  const fixed = new Map<string, string[]>();
  const byPattern = new Map<string, string[]>();
  for (const { method, path } of routes) {
    // A path with GET has HEAD (listen.ts).
    const methods = method === "GET" ? [method, "HEAD"] : [method];
    if (!path.includes(":")) add(fixed, withoutSlash(path), methods);
    else add(byPattern, path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/:[^/]+/g, "[^/]+"), methods);
  }
  const templates = [...byPattern].map(([pattern, methods]) => ({ pattern: new RegExp(`^${pattern}/?$`), methods }));
  const findMethods = (path: string) => [
    ...new Set(templates.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
  ];
  // Few, and known beforehand: no request is compared with every pattern.
  const taken = new Map([...fixed].filter(([path]) => findMethods(path).length > 0));
  return {
    /** The methods of a path; none: there is no such path. */
    of: (path: string) => fixed.get(withoutSlash(path)) ?? findMethods(path),
    /**
     * The path is that of a fixed route with other methods, so that the router would take it for a template:
     * GET /emails/batch is no GET /emails/{id}.
     */
    isTakenForAnother: (method: string, path: string) => taken.get(withoutSlash(path))?.includes(method) === false,
  };
}

function add(table: Map<string, string[]>, key: string, methods: string[]): void {
  table.set(key, [...new Set([...(table.get(key) ?? []), ...methods])]);
}

/** The router takes a path with a slash at its end for the same. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
