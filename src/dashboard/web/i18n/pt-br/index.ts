// Português do Brasil.
import type { FirstMessages } from "../translation.ts";
import { common, errors, roles, shell } from "./common.ts";
import * as dialogue from "./dialogue.ts";
import { entrance } from "./entrance.ts";
import * as pages from "./pages.ts";
import { workspace } from "./workspace.ts";

export const ptBr: FirstMessages = {
  common,
  errors,
  roles,
  shell,
  entrance,
  workspace,
  ...pages,
  ...dialogue,
};
