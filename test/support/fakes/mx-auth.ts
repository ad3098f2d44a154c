/** A server's side of AUTH, as the client's lines come: PLAIN with and without its response at once, and LOGIN. */
export class MxAuth {
  /** Who signed in, or null. */
  user: string | null = null;
  /** The next line belongs to AUTH. */
  isAsking = false;
  #mechanism = "";
  #given: string[] = [];

  /** The answer to one line: the command, or what was asked for. */
  take(line: string, accounts: Record<string, string>): string {
    if (!this.isAsking) {
      const [, mechanism = "", ...given] = line.split(" ");
      [this.#mechanism, this.#given] = [mechanism.toUpperCase(), given];
    } else this.#given.push(line);
    this.isAsking = false;
    const texts = this.#given.map((each) => Buffer.from(each, "base64").toString("utf8"));
    if (this.#mechanism === "PLAIN") {
      if (texts.length === 0) return this.#ask("");
      const [, user = "", password = ""] = (texts[0] ?? "").split("\0");
      return this.#decide(user, password, accounts);
    }
    if (this.#mechanism !== "LOGIN") return "504 5.5.4 Unrecognized authentication type";
    if (texts.length < 2) return this.#ask(texts.length === 0 ? "Username:" : "Password:");
    return this.#decide(texts[0] ?? "", texts[1] ?? "", accounts);
  }

  #ask(question: string): string {
    this.isAsking = true;
    return `334 ${Buffer.from(question).toString("base64")}`;
  }

  #decide(user: string, password: string, accounts: Record<string, string>): string {
    if (accounts[user] !== password) return "535 5.7.8 Error: authentication failed";
    this.user = user;
    return "235 2.7.0 Authentication successful";
  }
}
