/** Metrics as Prometheus reads them: by a parser of others, after a look at each line by the format's own grammar. */
import parse, { type Family } from "parse-prometheus-text-format";

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const NUMBER = "(?:[+-]?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|Inf)|NaN)";
const LINES = [
  new RegExp(`^# HELP ${NAME} [^\\n]+$`),
  new RegExp(`^# TYPE ${NAME} (?:counter|gauge|histogram)$`),
  new RegExp(`^${NAME}(?:\\{${LABEL}(?:,${LABEL})*\\})? ${NUMBER}$`),
];

export interface Metrics {
  readonly families: Family[];
  /** The value of the series with just these labels; undefined: there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
  /** The values of a label that a metric has series for. */
  labelsOf(name: string, label: string): string[];
}

/** Throws when the text is not in the format, or names anything twice. */
export function readMetrics(text: string): Metrics {
  if (text !== "" && !text.endsWith("\n")) throw new Error("the last line is cut off");
  const lines = text.split("\n").slice(0, -1);
  const wrong = lines.filter((line) => !LINES.some((form) => form.test(line)));
  if (wrong.length > 0) throw new Error(`not in the format:\n${wrong.join("\n")}`);
  const series = lines.filter((line) => !line.startsWith("#")).map((line) => line.slice(0, line.lastIndexOf(" ")));
  const twice = series.filter((name, index) => series.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`series that are there twice: ${twice.join(", ")}`);

  const families = parse(text);
  const byName = new Map(families.map((family) => [family.name, family]));
  if (byName.size !== families.length) throw new Error("a metric is there in two places");
  for (const { name, help, type } of families) {
    if (help === "" || type === "UNTYPED") throw new Error(`${name} has no HELP or no TYPE`);
  }
  return {
    families,
    value(name, labels = {}) {
      const found = byName
        .get(name)
        ?.metrics.find((sample) => Bun.deepEquals(sample.labels ?? {}, labels) && sample.value !== undefined)?.value;
      return found === undefined ? undefined : Number(found);
    },
    labelsOf: (name, label) => (byName.get(name)?.metrics ?? []).map((sample) => sample.labels?.[label] ?? ""),
  };
}
