import type { Messages } from "../translation.ts";

export const workspace: Messages["workspace"] = {
  home: "Início",
  emails: "E-mails",
  keys: "Chaves de API",
  domains: "Domínios",
  webhooks: "Webhooks",
  suppressions: "Supressões",
  members: "Membros",
  audit: "Registro de auditoria",
  sms: "SMS",
  credits: "Créditos de SMS",
  requests: "Requisições",
  settings: "Configurações",
};
