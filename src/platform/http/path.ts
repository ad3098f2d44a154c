/** The path of a request's URL, without query: what `new URL(url).pathname` gives at a tenth of its cost. Bun has normalised it. */
export function getPath(request: Request): string {
  const { url } = request;
  // HTTP/1.0 needs to name no host, which leaves the path alone.
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("://") + 3);
  const query = url.indexOf("?", start);
  return query < 0 ? url.slice(start) : url.slice(start, query);
}
