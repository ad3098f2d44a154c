// Pages of a workspace.

export const workspace = {
  home: "Home",
  emails: "Emails",
  keys: "API keys",
  domains: "Domains",
  webhooks: "Webhooks",
  suppressions: "Suppressions",
  members: "Members",
  audit: "Audit log",
  sms: "SMS",
  credits: "SMS credits",
  requests: "Requests",
  settings: "Settings",
};
