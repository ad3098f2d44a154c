import type { Messages } from "../index.ts";

export const entrance: Messages["entrance"] = {
  signInTitle: "Entrar",
  signIn: "Entrar",
  email: "Endereço de e-mail",
  password: "Senha",
  code: "Código",
  codeHint: "Do seu aplicativo autenticador, ou um código de recuperação.",
};
