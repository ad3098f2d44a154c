// People at the dashboard: requests of a browser with its cookies, as a page of our own sends them.

import type { Answer, Instance, Json, RequestOptions } from "../fakes/instance.ts";

export const PASSWORD = "quatro pombos no telhado";

export interface Browser {
  /** Cookies by their names. */
  readonly cookies: Map<string, string>;
  call(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

/**
 * A browser without any cookie, which has opened the dashboard at this origin; default: where it listens. One of https
 * comes through a reverse proxy on this machine.
 */
export function openBrowser(pombo: Instance, origin?: string): Browser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async call(method, path, options = {}) {
      const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await pombo.workspace.call(method, path, {
        key: null,
        ...options,
        headers: dropEmpty({
          "sec-fetch-site": "same-origin",
          host: origin === undefined ? "" : new URL(origin).host,
          "x-forwarded-proto": origin?.startsWith("https:") === true ? "https" : "",
          cookie: sent,
          ...options.headers,
        }),
      });
      for (const line of answer.headers.getSetCookie()) {
        const [pair = ""] = line.split(";");
        const at = pair.indexOf("=");
        if (/Max-Age=0(?:;|$)/i.test(line)) cookies.delete(pair.slice(0, at));
        else cookies.set(pair.slice(0, at), pair.slice(at + 1));
      }
      return answer;
    },
  };
}

/** An empty value takes a header away. */
function dropEmpty(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
}

/** The token of a new link to the setup page. */
export async function makeSetupLink(pombo: Instance): Promise<string> {
  const { accounts, committer } = pombo.app;
  return (await committer.commit(() => accounts.createLink({ kind: "setup", userId: null }))).token;
}

/** The browser of an operator who is signed in. */
export async function signUpOperator(
  pombo: Instance,
  email = "ana@example.com",
  origin?: string,
): Promise<Browser & { me: Json }> {
  const browser = openBrowser(pombo, origin);
  const body = { token: await makeSetupLink(pombo), email, name: "Ana", password: PASSWORD };
  const answer = await browser.call("POST", "/api/v1/auth/links/use", { body });
  if (answer.status !== 200) throw new Error(`no operator was made: ${answer.text}`);
  return { ...browser, me: answer.body.data };
}
