// Português do Brasil.
import type { Messages } from "../translation.ts";
import { account } from "./account.ts";
import { common, errors, roles, shell } from "./common.ts";
import { entrance } from "./entrance.ts";
import * as pages from "./pages.ts";
import { suppressions } from "./suppressions.ts";
import * as webhooks from "./webhooks.ts";
import { workspace } from "./workspace.ts";

export const ptBr: Messages = {
  common,
  errors,
  roles,
  shell,
  entrance,
  account,
  workspace,
  suppressions,
  ...pages,
  ...webhooks,
};
