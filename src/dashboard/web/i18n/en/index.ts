// English: the language whose keys the others have.
import { account } from "./account.ts";
import { common, errors, roles, shell } from "./common.ts";
import { entrance } from "./entrance.ts";
import * as pages from "./pages.ts";
import { suppressions } from "./suppressions.ts";
import * as webhooks from "./webhooks.ts";
import { workspace } from "./workspace.ts";

export const en = {
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
