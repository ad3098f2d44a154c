/**
 * The page at /docs: Swagger UI on the instance's own openapi.json, all of it from this executable.
 * Nothing on it asks another host: no fonts, no validator badge, no telemetry, and the policy would
 * forbid it. Keys that a reader types are not kept beyond the page.
 */

export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pombo API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<noscript>This page needs JavaScript. The description itself is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

export const START_SCRIPT = `"use strict";
SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** `style-src` without 'unsafe-inline': the viewer sets styles by script, which needs no leave. Its icons are data. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
