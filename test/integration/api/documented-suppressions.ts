// Requests about suppressions, in this order, whose answers must be as the document says.

export const SUPPRESSION_EXAMPLES = [
  { route: "GET /api/v1/suppressions", status: 200 },
  { route: "GET /api/v1/suppressions", status: 200, path: "/api/v1/suppressions?reason=manual&q=x" },
  { route: "GET /api/v1/suppressions", status: 422, path: "/api/v1/suppressions?address=x" },
  { route: "GET /api/v1/suppressions.csv", status: 200 },
  { route: "GET /api/v1/suppressions.csv", status: 422, path: "/api/v1/suppressions.csv?reason=x" },
  {
    route: "POST /api/v1/suppressions/import",
    status: 200,
    options: { body: { suppressions: [{ address: "z@example.com" }] } },
  },
  { route: "POST /api/v1/suppressions/import", status: 422, options: { body: { suppressions: [] } } },
  { route: "POST /api/v1/suppressions", status: 201, options: { body: { address: "x@example.com" } } },
  { route: "POST /api/v1/suppressions", status: 200, options: { body: { address: "X@example.com" } } },
  { route: "POST /api/v1/suppressions", status: 422, options: { body: { address: "x", reason: "opt_out" } } },
  {
    route: "DELETE /api/v1/suppressions/{address}",
    status: 200,
    path: "/api/v1/suppressions/x%40example.com?channel=email",
  },
  { route: "DELETE /api/v1/suppressions/{address}", status: 404, path: "/api/v1/suppressions/x%40example.com" },
  { route: "DELETE /api/v1/suppressions/{address}", status: 422, path: "/api/v1/suppressions/%" },
];
