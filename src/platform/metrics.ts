import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

type Labels = Record<string, string>;

/** Numbers for Prometheus. Names get the prefix `voicetill_`; label values are from short fixed lists, never ids. */
export interface Metrics {
  /** A number that only grows; the returned function adds one. */
  counter(name: string, help: string, labels?: readonly string[]): (values?: Labels) => void;
  /** A number read at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
  /** A distribution of durations; the returned function takes milliseconds, Prometheus gets seconds. */
  timings(name: string, help: string, labels?: readonly string[]): (ms: number, values?: Labels) => void;
  /** The exposition text and its content type. */
  text(): Promise<string>;
  readonly contentType: string;
}

const BUCKETS_SECONDS = [0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];

/** A registry of its own. `ofProcess` adds memory, CPU, event loop delay and open handles of this process. */
export function createMetrics({ ofProcess = false }: { ofProcess?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (ofProcess) collectDefaultMetrics({ register: registry });
  const common = (name: string, help: string, labelNames: readonly string[]) => ({
    name: `voicetill_${name}`,
    help,
    labelNames: [...labelNames],
    registers: [registry],
  });

  return {
    counter: (name, help, labels = []) => {
      const counter = new Counter(common(name, help, labels));
      return (values = {}) => counter.inc(values);
    },
    gauge: (name, help, read) => {
      const gauge: Gauge = new Gauge({ ...common(name, help, []), collect: () => gauge.set(read()) });
    },
    timings: (name, help, labels = []) => {
      const histogram = new Histogram({ ...common(name, help, labels), buckets: BUCKETS_SECONDS });
      return (ms, values = {}) => histogram.observe(values, ms / 1000);
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
