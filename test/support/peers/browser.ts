// A real browser without a window, driven over its DevTools protocol: one page at a time, with every
// request that it makes and every word of complaint written down. Ended by its own pid.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf, type Tool } from "./packages.ts";
import { startProcess, waitUntil, type Cleanup } from "./process.ts";

export const CHROMIUM: Tool = { program: "chromium", package: "chromium" };

const START_TIMEOUT_MS = 20_000;
const STEP_TIMEOUT_MS = 30_000;
/** How much of a page's words is told when something is awaited on it in vain. */
const TOLD_LENGTH = 1500;

const KEY_CODES: Record<string, number> = { Tab: 9, Enter: 13, Escape: 27, ArrowLeft: 37, ArrowRight: 39 };

/** No window, no sandbox of its own (it refuses to have one as root), and no talk of its own with anybody. */
const FLAGS = [
  ...["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"],
  ...["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  // Any other host is not found: a request to one fails, and is seen to fail.
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];

/** A message of the protocol whose shape the caller knows. */
// oxlint-disable-next-line no-explicit-any
type Message = any;

export interface Screen {
  /** CSS pixels. */
  width: number;
  height: number;
  scheme: "light" | "dark";
}

export interface BrowserPage {
  /** Every URL asked for, with what came of it; null: nothing yet. */
  readonly requests: { url: string; status: number | string | null }[];
  /** Errors of the console, exceptions, and what the page's policy forbade. */
  readonly complaints: string[];
  /** Resolves once the page and its scripts are loaded. */
  goTo(url: string): Promise<void>;
  /** The value of an expression of JavaScript in the page. */
  evaluate(expression: string): Promise<Message>;
  /** Waits until the expression is true. @throws Error naming `what` when that takes too long */
  until(what: string, expression: string): Promise<void>;
  /** Clicks what the selector finds first, as a script does. */
  click(selector: string): Promise<void>;
  /** Types into what the selector finds first, as a person does. */
  type(selector: string, text: string): Promise<void>;
  /** Presses a key on what has the focus, such as `j` or `Tab`. */
  press(key: string): Promise<void>;
  /** From now on the page is seen so. */
  emulate(screen: Screen): Promise<void>;
  /** Writes what is seen to a PNG file. */
  screenshot(file: string): Promise<void>;
}

/** Starts the browser with its files in `folder` and opens an empty page. */
export async function openBrowser(folder: string, cleanup: Cleanup): Promise<BrowserPage> {
  const profile = join(folder, "chromium");
  mkdirSync(profile);
  const command = [pathOf(CHROMIUM.program), ...FLAGS, `--user-data-dir=${profile}`, "about:blank"];
  const browser = startProcess({ command, logFile: join(folder, "chromium.log"), env: { HOME: profile } });
  cleanup.add(() => browser.stop());
  // The browser writes here where it listens.
  const file = join(profile, "DevToolsActivePort");
  await waitUntil("the browser listens", START_TIMEOUT_MS, () => {
    if (!browser.isAlive()) throw new Error(`the browser ended at once:\n${browser.output().slice(-2000)}`);
    return existsSync(file) && readFileSync(file, "utf8").includes("/devtools/");
  });
  const [port = "", path = ""] = readFileSync(file, "utf8").split("\n");
  const connection = await connect(`ws://127.0.0.1:${port}${path}`);
  cleanup.add(() => connection.close());
  const { targetId } = await connection.call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await connection.call("Target.attachToTarget", { targetId, flatten: true });
  return pageOf(connection, sessionId);
}

interface Connection {
  call(method: string, params?: object, sessionId?: string): Promise<Message>;
  listen(listener: (method: string, params: Message) => void): void;
  close(): void;
}

async function connect(url: string): Promise<Connection> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error(`no DevTools at ${url}`)));
  });
  const waiting = new Map<number, { resolve: (value: Message) => void; reject: (error: Error) => void }>();
  const listeners: ((method: string, params: Message) => void)[] = [];
  socket.addEventListener("message", (event) => {
    const message = JSON.parse(String(event.data));
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error !== undefined) call?.reject(new Error(message.error.message));
    else call?.resolve(message.result);
    if (message.method !== undefined) for (const listener of listeners) listener(message.method, message.params);
  });
  let last = 0;
  return {
    call: (method, params = {}, sessionId) =>
      new Promise((resolve, reject) => {
        last += 1;
        waiting.set(last, { resolve, reject });
        socket.send(JSON.stringify({ id: last, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
      }),
    listen: (listener) => void listeners.push(listener),
    close: () => socket.close(),
  };
}

async function pageOf(connection: Connection, sessionId: string): Promise<BrowserPage> {
  const call = (method: string, params: object = {}) => connection.call(method, params, sessionId);
  const requests: BrowserPage["requests"] = [];
  const complaints: string[] = [];
  const byId = new Map<string, BrowserPage["requests"][number]>();
  connection.listen((method, params) => {
    switch (method) {
      case "Network.requestWillBeSent": {
        const request = { url: params.request.url as string, status: null };
        // An image written out in a style is a request to nobody.
        if (!request.url.startsWith("data:")) requests.push(request);
        byId.set(params.requestId, request);
        break;
      }
      case "Network.responseReceived":
        Object.assign(byId.get(params.requestId) ?? {}, { status: params.response.status });
        break;
      case "Network.loadingFailed":
        Object.assign(byId.get(params.requestId) ?? {}, { status: params.errorText });
        break;
      case "Runtime.exceptionThrown":
        complaints.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
        break;
      case "Runtime.consoleAPICalled":
        if (params.type === "error" || params.type === "assert")
          complaints.push(`console: ${params.args.map((arg: Message) => arg.value ?? arg.description).join(" ")}`);
        break;
      case "Log.entryAdded":
        if (params.entry.level === "error") complaints.push(`log: ${params.entry.text} ${params.entry.url ?? ""}`);
        break;
      case "Audits.issueAdded":
        if (params.issue.code === "ContentSecurityPolicyIssue")
          complaints.push(`policy: ${JSON.stringify(params.issue.details.contentSecurityPolicyIssueDetails)}`);
        break;
      default:
    }
  });
  for (const domain of ["Network", "Page", "Runtime", "Log", "Audits"]) await call(`${domain}.enable`);
  const evaluate = async (expression: string) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true });
    if (exceptionDetails !== undefined)
      throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  };
  const until = async (what: string, expression: string) => {
    try {
      await waitUntil(what, STEP_TIMEOUT_MS, async () => (await evaluate(expression)) === true);
    } catch (error) {
      const words = String(await evaluate("document.body.innerText").catch(String)).slice(0, TOLD_LENGTH);
      const seen = { complaints, lastRequests: requests.slice(-3), words };
      throw new Error(`${error instanceof Error ? error.message : String(error)}: ${JSON.stringify(seen)}`, {
        cause: error,
      });
    }
  };
  const found = async (selector: string) => {
    const place = `document.querySelector(${JSON.stringify(selector)})`;
    await until(selector, `${place} !== null`);
    return place;
  };
  return {
    requests,
    complaints,
    goTo: async (url) => {
      await call("Page.navigate", { url });
      // Before that a button may be there whose script is not.
      await until(`${url} is loaded`, `document.readyState === "complete"`);
    },
    evaluate,
    until,
    click: async (selector) => void (await evaluate(`${await found(selector)}.click()`)),
    type: async (selector, text) => {
      await evaluate(`${await found(selector)}.focus()`);
      await call("Input.insertText", { text });
    },
    press: async (key) => {
      const code = key.length === 1 ? key.toUpperCase().charCodeAt(0) : (KEY_CODES[key] ?? 0);
      const pressed = { key, windowsVirtualKeyCode: code, ...(key.length === 1 ? { text: key } : {}) };
      await call("Input.dispatchKeyEvent", { type: key.length === 1 ? "keyDown" : "rawKeyDown", ...pressed });
      await call("Input.dispatchKeyEvent", { type: "keyUp", ...pressed });
    },
    emulate: async ({ width, height, scheme }) => {
      await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    },
    screenshot: async (file) => {
      const { data } = await call("Page.captureScreenshot", { format: "png" });
      writeFileSync(file, Buffer.from(data, "base64"));
    },
  };
}
