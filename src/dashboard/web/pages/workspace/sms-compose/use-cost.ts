// What an SMS costs, asked of the API a moment after the last key.

import { type ApiError, type Data, useCall, useEffect, useRef, useState } from "../../../kit.ts";
import { readNumber } from "./draft.ts";

export type Cost = Data<"POST /api/v1/sms/preview">;

/** A text with its cost. */
export interface Counted {
  body: string;
  cost: Cost;
}

const PREVIEW = "POST /api/v1/sms/preview";
const SETTLE_MS = 300;
/** Whole numbers only: while one is typed the usual route counts. */
const E164 = /^\+[1-9]\d{10,14}$/;

/** The last answer stays until the next one is there; null: nothing is written. */
export function useCost(written: { to: string; body: string }): { counted: Counted | null; error: ApiError | null } {
  const { to, body } = useSettled(written);
  const last = useRef<Counted | null>(null);
  const given = body === "" ? null : { body };
  const number = readNumber(to);
  const toNumber = useCall(PREVIEW, given !== null && E164.test(number) ? { body: { ...given, to: number } } : null);
  // No route leads to this number, as the send will say; the text can be counted.
  const isCounted = E164.test(number) && toNumber.error === null;
  const toAny = useCall(PREVIEW, given === null || isCounted ? null : { body: given });
  const { data, error } = isCounted ? toNumber : toAny;
  if (given === null) last.current = null;
  else if (data !== undefined) last.current = { body, cost: data };
  return { counted: last.current, error };
}

function useSettled(written: { to: string; body: string }): { to: string; body: string } {
  const [settled, setSettled] = useState(written);
  const { to, body } = written;
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ to, body }), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [to, body]);
  return settled;
}
