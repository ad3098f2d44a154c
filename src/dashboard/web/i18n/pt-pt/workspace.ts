import type { Messages } from "../translation.ts";

export const workspace: Messages["workspace"] = {
  home: "Início",
  emails: "Emails",
  keys: "Chaves de API",
  domains: "Domínios",
  webhooks: "Webhooks",
  suppressions: "Supressões",
  members: "Membros",
  audit: "Registo de auditoria",
  sms: "SMS",
  credits: "Créditos de SMS",
  requests: "Pedidos",
  settings: "Definições",
};
