import type { FastifyInstance } from "fastify";
import { createApi } from "#src/api/index.ts";
import { memoryCounter } from "#src/api/access/memory-counter.ts";
import { createCheckout } from "#src/checkout/index.ts";
import { GATEWAYS_BUILT } from "#src/gateways/index.ts";
import type { Clock } from "#src/kernel/clock.ts";
import type { Database, Log } from "#src/platform/index.ts";
import type { Projects } from "#src/projects/index.ts";
import type { Sessions } from "#src/sessions/index.ts";
import type { Widget } from "#src/widget/index.ts";
import { SERVICE_URL } from "./fixtures.ts";
import type { WorldState } from "./state.ts";

/** One request of a browser or a merchant. */
export interface HttpRequest {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface HttpResponse {
  status: number;
  header(name: string): string | null;
  text: string;
}

/** Called where the service is, in the moment in which it has the request and in which it has answered. */
export interface ExchangeObserver {
  onArrival(): void;
  onAnswer(answer: HttpResponse): void;
}

/** The process whose HTTP interface it is. */
interface HttpHost {
  readonly database: Database;
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly widget: Widget;
  readonly clock: Clock;
  readonly owner: string;
  readonly log: Log;
  readonly isAlive: boolean;
  readonly world: WorldState;
}

/** The HTTP interface of one process, whole, behind a network that loses what a dying process had not answered. */
export class HttpEntryPoint {
  readonly #process: HttpHost;
  readonly #waiting = new Set<() => void>();
  #app: FastifyInstance | null = null;

  constructor(process: HttpHost) {
    this.#process = process;
  }

  /** Null: the connection broke. */
  async ask(asked: HttpRequest, watch: ExchangeObserver): Promise<HttpResponse | null> {
    await this.#delay();
    if (!this.#process.isAlive) return null;
    watch.onArrival();
    const broken = Promise.withResolvers<null>();
    const breaks = () => broken.resolve(null);
    this.#waiting.add(breaks);
    const answer = await Promise.race([this.#answer(asked), broken.promise]);
    this.#waiting.delete(breaks);
    if (answer) watch.onAnswer(answer);
    await this.#delay();
    return answer;
  }

  /** The process is gone, and every connection with it. */
  close(): void {
    for (const breaks of this.#waiting) breaks();
    this.#waiting.clear();
    this.#app = null;
  }

  async #answer({ method, path, headers = {}, body }: HttpRequest): Promise<HttpResponse> {
    this.#app ??= this.#open();
    const response = await this.#app.inject({ method, url: path, headers, ...(body !== undefined && { payload: body }) });
    const header = (name: string) => {
      const value = response.headers[name];
      return typeof value === "string" ? value : null;
    };
    return { status: response.statusCode, header, text: response.payload };
  }

  /** Opened when somebody first comes: most processes of a world never see a browser. Without limits: who asks too often is no matter here. */
  #open(): FastifyInstance {
    const { database, sessions, projects, widget, clock, owner, log, world } = this.#process;
    return createApi({
      database,
      sessions,
      projects,
      checkout: createCheckout({
        database,
        projects,
        gateways: GATEWAYS_BUILT,
        clock,
        log,
        settings: { phoneNumber: null, sessionTtlSeconds: 300, dialsNumbers: false, dialsTls: false, isTrunkHost: () => false },
      }),
      widget,
      clock,
      random: world.random,
      owner,
      log,
      rateCounter: memoryCounter(clock),
      sipUriFor: (id) => `sip:${id}@till.example`,
      probes: { sip: null, worker: null },
      settings: {
        baseUrl: SERVICE_URL,
        version: "0.0.0",
        rateLimitPerMinute: 0,
        trustedProxies: [],
      },
    });
  }

  #delay(): Promise<void> {
    const { world } = this.#process;
    return world.sleep(world.random.between(1, 40));
  }
}
