// Pages of a workspace.

export const workspace = {
  home: "Home",
  emails: "Emails",
  keys: "API keys",
  webhooks: "Webhooks",
  suppressions: "Suppressions",
  members: "Members",
  audit: "Audit log",
  requests: "Requests",
  settings: "Settings",
};
