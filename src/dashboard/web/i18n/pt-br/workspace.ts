import type { Messages } from "../index.ts";

export const workspace: Messages["workspace"] = {
  home: "Início",
  emails: "E-mails",
  keys: "Chaves da API",
  members: "Membros",
  audit: "Registro de auditoria",
};
