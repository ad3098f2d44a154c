import type { Messages } from "../translation.ts";

export const entrance: Messages["entrance"] = {
  signInTitle: "Entrar",
  signIn: "Entrar",
  email: "Endereço de e-mail",
  password: "Senha",
  code: "Código",
  codeHint: "Do seu aplicativo autenticador, ou um código de recuperação.",
};
