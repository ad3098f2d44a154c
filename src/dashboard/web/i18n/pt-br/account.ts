import type { Messages } from "../translation.ts";

export const account: Messages["account"] = {
  title: "Sua conta",
};
