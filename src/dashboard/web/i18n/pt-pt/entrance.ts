import type { Messages } from "../translation.ts";

export const entrance: Messages["entrance"] = {
  signInTitle: "Iniciar sessão",
  signIn: "Iniciar sessão",
  email: "Endereço de email",
  password: "Palavra-passe",
  code: "Código",
  codeHint: "Da sua aplicação de autenticação, ou um código de recuperação.",
};
