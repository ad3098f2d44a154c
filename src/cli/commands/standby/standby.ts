import type { Command } from "../../framework/definition.ts";
import { ALONE } from "./alone.ts";
import { HAND_OVER } from "./hand-over.ts";

export const STANDBY_COMMANDS: readonly Command[] = [HAND_OVER, ALONE];
