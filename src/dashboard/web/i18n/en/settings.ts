// The settings of a workspace.

export const settings = {
  title: "Settings",
  text: "What this workspace is called, what it may do, and who sees what its messages say.",
  name: "Name",
  nameTitle: "Workspace",
  nameHint: "Members see it, and invitations name it.",
  id: "Id",
  created: "Created",
  plan: "Plan",
  limits: "What the plan allows",
  limitsText: "Only the operator of this server changes the plan.",
  emailsPerDay: "Emails a day",
  emailsPerMonth: "Emails a month",
  domains: "Domains",
  apiKeys: "API keys",
  webhooks: "Webhooks",
  members: "Members",
  storage: "Stored contents",
  unlimited: (used: string) => `${used}, no limit`,
  used: (used: string, limit: string) => `${used} of ${limit}`,
  senders: "SMS senders",
  sendersText:
    "Names and numbers that SMS may come from. The operator of this server registers them with the networks.",
  sendersNone: "There is none yet: ask the operator of this server for one.",
  senderDefault: "Default",
  remove: "Delete the workspace",
  removeText:
    "Only the operator of this server can delete a workspace, with all its messages, keys and members. Ask for it, and give this id:",
  yes: "yes",
  no: "no",
};

export const content = {
  title: "Who sees what messages say",
  text: "Owners, admins and members always do. Everybody here sees subjects and addresses.",
  viewers: "Viewers too",
  operators: "Operators of this server too",
  operatorsHint: "The audit log says what they read.",
};
