/**
 * The metrics of the process in Prometheus' text format 0.0.4: counters and histograms, to which others add, and gauges,
 * which are read at each scrape. Pure. The labels of a counter are bounded, because each new value is a series that
 * Prometheus keeps for weeks: beyond the bound they count as `other`.
 */

export interface Description {
  /** `pombo_…`, with its unit last, `_total` for a counter. */
  name: string;
  help: string;
  labels?: readonly string[];
}

/** One series of a gauge: the values of its labels, in the order of their names. */
export interface Sample {
  labels: readonly string[];
  value: number;
}

/** The value of a gauge; null: unknown, and the gauge is left out. */
export type Reading = number | Sample[] | null;

const MAX_SERIES = 100;
/** The value of every label of what came too late to have a series of its own. */
const OTHER = "other";

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

export class Counter {
  readonly #labelCount: number;
  readonly #series = new Map<string, { labels: readonly string[]; value: number }>();

  constructor(description: Description) {
    this.#labelCount = description.labels?.length ?? 0;
    // A counter without labels stands at 0 from the start, so that its first step is seen as one.
    if (this.#labelCount === 0) this.#series.set("", { labels: [], value: 0 });
  }

  /** Makes the series of these label values stand at 0 until it is added to. */
  declare(...labels: string[]): this {
    this.add(0, ...labels);
    return this;
  }

  /** Adds `amount` (≥ 0) to the series of these label values. */
  add(amount: number, ...labels: string[]): void {
    const key = labels.length === 1 ? (labels[0] ?? "") : labels.join("\0");
    const series = this.#series.get(key) ?? this.#open(key, labels);
    series.value += amount;
  }

  samples(): Sample[] {
    return [...this.#series.values()];
  }

  #open(key: string, labels: string[]): { labels: readonly string[]; value: number } {
    if (labels.length !== this.#labelCount) throw new Error(`${this.#labelCount} labels are needed`);
    // The last series below the bound is the one for all others.
    const isOther = this.#series.size >= MAX_SERIES - 1 && labels.some((label) => label !== OTHER);
    if (isOther) {
      const others = labels.map(() => OTHER);
      const otherKey = others.join("\0");
      return this.#series.get(otherKey) ?? this.#open(otherKey, others);
    }
    const series = { labels, value: 0 };
    this.#series.set(key, series);
    return series;
  }
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** `bounds`: upper ends of its buckets, ascending; the last one, to infinity, is its own. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** The upper end of the bucket in which this share of the values ends; null: there is none yet. */
  quantile(share: number): number | null {
    const wanted = this.count * share;
    if (wanted === 0) return null;
    let below = 0;
    const bucket = this.#counts.findIndex((count) => (below += count) >= wanted);
    return this.#bounds[bucket] ?? Number.POSITIVE_INFINITY;
  }

  lines(name: string): string[] {
    let below = 0;
    const buckets = this.#counts.map((count, index) => {
      below += count;
      return sampleLine(`${name}_bucket`, ["le"], {
        labels: [numberText(this.#bounds[index] ?? Number.POSITIVE_INFINITY)],
        value: below,
      });
    });
    return [...buckets, `${name}_sum ${numberText(this.#sum)}`, `${name}_count ${below}`];
  }
}

export class Registry {
  readonly #families = new Map<string, () => string[]>();

  counter(description: Description): Counter {
    const counter = new Counter(description);
    this.#register(description, "counter", () => formatSamples(description, counter.samples()));
    return counter;
  }

  /** A gauge, or a counter that something else keeps, read at each asking. */
  read(description: Description & { type: "gauge" | "counter" }, read: () => Reading): void {
    this.#register(description, description.type, () => {
      const reading = read();
      if (reading === null) return [];
      return formatSamples(description, typeof reading === "number" ? [{ labels: [], value: reading }] : reading);
    });
  }

  histogram(description: Omit<Description, "labels">, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#register(description, "histogram", () => histogram.lines(description.name));
    return histogram;
  }

  /** Everything, as Prometheus reads it. */
  text(): string {
    return [...this.#families.values()]
      .flatMap((family) => family())
      .map((line) => `${line}\n`)
      .join("");
  }

  #register(description: Description, type: string, lines: () => string[]): void {
    const { name, help, labels = [] } = description;
    if (!METRIC_NAME.test(name) || !labels.every((label) => LABEL_NAME.test(label))) {
      throw new Error(`${name} or one of its labels is no name of a metric`);
    }
    if (this.#families.has(name)) throw new Error(`${name} is registered twice`);
    const head = [`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`, `# TYPE ${name} ${type}`];
    this.#families.set(name, () => {
      const samples = lines();
      return samples.length === 0 ? [] : [...head, ...samples];
    });
  }
}

function formatSamples({ name, labels = [] }: Description, samples: readonly Sample[]): string[] {
  return samples.map((sample) => sampleLine(name, labels, sample));
}

function sampleLine(name: string, labelNames: readonly string[], { labels, value }: Sample): string {
  // An empty label is the same as none.
  const pairs = labelNames.flatMap((label, index) => (labels[index] ? [`${label}="${labelText(labels[index])}"`] : []));
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

function labelText(value: string): string {
  return value.toWellFormed().replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
