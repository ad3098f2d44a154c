// The dashboard: pages for people over the same API.
export { dashboardRoutes } from "./routes.ts";
