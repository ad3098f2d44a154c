/** The value of a Date field, where it is a date that RFC 5322 §3.3 allows, and a time that there is. */

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/** The zone also as a name or a letter (§4.3 obs-zone). */
const DATE_TIME =
  /^(?:([a-z]{3}) ?, ?)?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}) ?: ?(\d{2})(?: ?: ?(\d{2}))? (?:([+-])(\d\d)([0-5]\d)|ut|gmt|[ecmp][sd]t|[a-ik-z])$/;
const MAX_VALUE = 200;

/** `value`: unfolded. Unix ms, of a zone with a name as if it were UTC; null: it is none. */
export function parseDateTime(value: string): number | null {
  const text = removeComments(value.slice(0, MAX_VALUE))
    .replace(/[ \t]+/g, " ")
    .trim()
    .toLowerCase();
  const [, weekday, day, monthName = "", year, hour, minute, second = "0", sign, hours = "0", minutes = "0"] =
    DATE_TIME.exec(text) ?? [];
  const month = MONTHS.indexOf(monthName);
  if (month < 0 || Number(year) < 1900 || Number(hour) > 23 || Number(minute) > 59) return null;
  // RFC 5322 §3.3 allows a leap second.
  if (Number(second) > 60) return null;
  const midnight = new Date(Date.UTC(Number(year), month, Number(day)));
  if (midnight.getUTCDate() !== Number(day) || midnight.getUTCMonth() !== month) return null;
  if (weekday !== undefined && DAYS.indexOf(weekday) !== midnight.getUTCDay()) return null;
  const ahead = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
  return midnight.getTime() + ((Number(hour) * 60 + Number(minute) - ahead) * 60 + Number(second)) * 1_000;
}

/** Each becomes a space; they may hold others. */
function removeComments(value: string): string {
  let text = "";
  let depth = 0;
  for (let i = 0; i < value.length; i++) {
    const character = value[i] ?? "";
    if (character === "(") depth++;
    if (depth === 0) text += character;
    else if (character === "\\") i++;
    else if (character === ")" && --depth === 0) text += " ";
  }
  return depth === 0 ? text : value;
}
