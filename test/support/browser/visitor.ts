// A person with a browser profile of their own. Everything that a careful reader of the console and of the network
// would frown at is written down.

import type { Browser, BrowserContext, Page, Request, Response } from "playwright-core";
import { waitUntil } from "../peers/process.ts";

const STEP_TIMEOUT_MS = 15_000;
/** How much of a page's words is told when something is awaited on it in vain. */
const TOLD_LENGTH = 1500;
/** The browser says so of each answer from 400 on and of each failed request; those are written down by themselves. */
const NETWORK_WORDS = "Failed to load resource";

/** Cookies of a profile. */
export type StorageState = Awaited<ReturnType<BrowserContext["storageState"]>>;

export interface Look {
  /** CSS pixels. */
  width?: number;
  height?: number;
  scheme?: "light" | "dark";
  /** Such as `pt-PT`. */
  language?: string;
  hasLessMotion?: boolean;
  timezone?: string;
  /** Cookies of another profile that this one has too. */
  storageState?: StorageState;
}

export class Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Where its pages may ask. */
  readonly origin: string;
  /** `GET /path`, in order; of other hosts `GET http://…`. */
  readonly requests: string[] = [];
  /** `GET /path 200`, as their headers came. */
  readonly answers: string[] = [];
  readonly #complaints: string[] = [];
  readonly #allowed: RegExp[] = [/^answer: GET \/api\/v1\/auth\/me 401$/];

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    this.origin = origin;
  }

  /** Opens an empty page. */
  static async open(browser: Browser, origin: string, look: Look = {}): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: { width: look.width ?? 1280, height: look.height ?? 800 },
      colorScheme: look.scheme ?? "light",
      locale: look.language ?? "en-GB",
      reducedMotion: look.hasLessMotion === true ? "reduce" : "no-preference",
      timezoneId: look.timezone ?? "Africa/Maputo",
      baseURL: origin,
      ...(look.storageState === undefined ? {} : { storageState: look.storageState }),
    });
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    const visitor = new Visitor(context, await context.newPage(), origin);
    visitor.#listen();
    return visitor;
  }

  /** Faults that this journey is about, such as `/^answer: POST \/api\/v1\/auth\/session 401$/`. */
  allow(...faults: RegExp[]): void {
    this.#allowed.push(...faults);
  }

  /** What is left to complain of. */
  get complaints(): string[] {
    return this.#complaints.filter((each) => !this.#allowed.some((allowed) => allowed.test(each)));
  }

  /**
   * Waits until the expression is true in the page.
   * Playwright's own waiting evaluates strings from a timer, which the pages' policy forbids.
   */
  async until(what: string, expression: string, page: Page = this.page): Promise<void> {
    try {
      await waitUntil(what, STEP_TIMEOUT_MS, async () => (await page.evaluate(expression)) === true);
    } catch (error) {
      const words = String(await page.evaluate("document.body.innerText").catch(String)).slice(0, TOLD_LENGTH);
      const seen = { complaints: this.complaints, lastRequests: this.requests.slice(-3), words };
      throw new Error(`${what}: ${JSON.stringify(seen)}`, { cause: error });
    }
  }

  /** Requests whose `METHOD /path` fits, so far. */
  count(request: RegExp): number {
    return this.requests.filter((each) => request.test(each)).length;
  }

  /** Waits until so many of them were answered. */
  untilAnswered(answer: RegExp, count: number): Promise<void> {
    const isThere = () => this.answers.filter((each) => answer.test(each)).length >= count;
    return waitUntil(`${count} × ${String(answer)}`, STEP_TIMEOUT_MS, isThere);
  }

  /** Waits until there have been that many of them. */
  untilCount(request: RegExp, count: number): Promise<void> {
    return waitUntil(`${count} × ${String(request)}`, STEP_TIMEOUT_MS, () => this.count(request) >= count);
  }

  #listen(): void {
    this.context.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol === "data:" || protocol === "blob:" || protocol === "about:") return;
      this.requests.push(this.#name(request));
      if (origin !== this.origin) this.#complaints.push(`stranger: ${this.#name(request)}`);
    });
    this.context.on("response", (response: Response) => {
      const answer = `${this.#name(response.request())} ${response.status()}`;
      this.answers.push(answer);
      if (response.status() >= 400) this.#complaints.push(`answer: ${answer}`);
    });
    this.context.on("requestfailed", (request) => {
      const reason = request.failure()?.errorText ?? "";
      // A page that is left, or that ends its stream, asks for no answer any more.
      if (reason !== "net::ERR_ABORTED") this.#complaints.push(`failed: ${this.#name(request)} ${reason}`);
    });
    this.context.on("weberror", (error) => void this.#complaints.push(`exception: ${error.error().message}`));
    // The policy's violations are errors of the console, a header that the browser does not understand is a warning.
    this.context.on("console", (message) => {
      const isFault = ["error", "warning", "assert"].includes(message.type());
      if (isFault && !message.text().startsWith(NETWORK_WORDS)) this.#complaints.push(`console: ${message.text()}`);
    });
  }

  #name(request: Request): string {
    const { origin, pathname, search } = new URL(request.url());
    return `${request.method()} ${origin === this.origin ? "" : origin}${pathname}${search}`;
  }
}
