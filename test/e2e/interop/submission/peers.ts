// The programs that hand mail in, each with how its toolchain is brought and how it is run.

import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { bring } from "../../../support/peers/bring.ts";
import { ensureTools, pathOf, type Tool } from "../../../support/peers/packages.ts";
import { mustRun, run, type Finished } from "../../../support/peers/process.ts";
import { submitByCurl, submitByMsmtp, submitBySwaks } from "./commands.ts";

const SENDERS = join(import.meta.dir, "senders");
const TOOLS = join(import.meta.dir, "../../../.tools/interop");
const PROJECT = join(import.meta.dir, "../../../..");

export const MODES = ["starttls", "implicit"] as const;
export type Mode = (typeof MODES)[number];

/** The listener, and who signs in. */
export interface Server {
  host: string;
  port: number;
  mode: Mode;
  /** The authority of its certificate, PEM. */
  caFile: string;
  username: string;
  password: string;
}

/** Hands in the messages of a file (messages.ts), up to the first that is refused. */
export type Submit = (messagesFile: string, server: Server) => Promise<Finished>;

export interface Peer {
  name: string;
  /** The beginning of its recipients' names. */
  id: string;
  /** Part of the short form. */
  isSmoke?: boolean;
  /** What it prints has the server's replies. */
  showsReply?: boolean;
  /** What it makes of a plain text by a fault of its own. */
  fault?: (text: string) => string;
  /** An empty folder of its own is given. @returns why it cannot be had, or how it sends */
  prepare(folder: string): Promise<string | Submit>;
}

const PHP = "php-cli php-mbstring php-intl";
const PYTHON: Tool = { program: "python3", package: "python3-minimal" };
const JAVA: Tool[] = [
  { program: "javac", package: "default-jdk-headless" },
  { program: "mvn", package: "maven" },
];

export const PEERS: Peer[] = [
  {
    name: "nodemailer",
    id: "nodemailer",
    isSmoke: true,
    showsReply: true,
    async prepare(folder) {
      // An import is looked up from the program's own place.
      symlinkSync(join(PROJECT, "node_modules"), join(folder, "node_modules"));
      cpSync(join(SENDERS, "nodemailer.mjs"), join(folder, "nodemailer.mjs"));
      return program(Bun.which("node") ?? process.execPath, join(folder, "nodemailer.mjs"));
    },
  },
  {
    name: "smtplib",
    id: "smtplib",
    isSmoke: true,
    // A message that is composed with policies is still written for a mailbox file.
    fault: (text) => text.replaceAll(/^From /gm, ">From "),
    prepare: () => packaged([PYTHON], "python3", "smtplib_send.py"),
  },
  {
    name: "swaks",
    id: "swaks",
    isSmoke: true,
    showsReply: true,
    prepare: async (folder) => (messages, server) => submitBySwaks(messages, server, folder),
  },
  { name: "Django", id: "django", prepare: prepareDjango },
  {
    name: "PHPMailer",
    id: "phpmailer",
    prepare: () =>
      packaged([file("php/libphp-phpmailer/src/PHPMailer.php", "libphp-phpmailer")], "php", "phpmailer.php"),
  },
  {
    name: "Symfony Mailer",
    id: "symfony",
    prepare: () =>
      packaged(
        [file("php/Symfony/Component/Mailer/autoload.php", "php-symfony-mailer php-symfony-mime")],
        "php",
        "symfony_mailer.php",
      ),
  },
  {
    name: "SwiftMailer",
    id: "swiftmailer",
    prepare: () => packaged([file("php/Swift/swift_required.php", "php-swiftmailer")], "php", "swiftmailer.php"),
  },
  {
    name: "mail for Ruby",
    id: "mail-gem",
    fault: doubleDot,
    prepare: () =>
      packaged([{ program: "/usr/lib/ruby/vendor_ruby/mail.rb", package: "ruby ruby-mail" }], "ruby", "mail_gem.rb"),
  },
  {
    name: "ActionMailer",
    id: "action-mailer",
    fault: doubleDot,
    prepare: () =>
      packaged(
        [{ program: "/var/lib/dpkg/info/ruby-actionmailer.list", package: "ruby ruby-actionmailer" }],
        "ruby",
        "action_mailer.rb",
      ),
  },
  { name: "Angus Mail", id: "angus", prepare: prepareJava },
  { name: "Go's net/smtp", id: "net-smtp", prepare: () => prepareGo("net/smtp") },
  { name: "go-mail", id: "go-mail", prepare: () => prepareGo("go-mail") },
  { name: "lettre", id: "lettre", prepare: prepareRust },
  {
    name: "curl",
    id: "curl",
    showsReply: true,
    prepare: (folder) =>
      withTools([{ program: "curl", package: "curl" }], async () => (messages, server) => {
        return submitByCurl(messages, server, folder);
      }),
  },
  {
    name: "msmtp",
    id: "msmtp",
    prepare: (folder) =>
      withTools([PYTHON, { program: "msmtp", package: "msmtp" }], async () => (messages, server) => {
        return submitByMsmtp(messages, server, folder);
      }),
  },
];

/** mail 2.7 doubles a dot that is a line of its own, and so does Net::SMTP after it. */
function doubleDot(text: string): string {
  return text.replace(/^\.$/m, "..");
}

/** A file of a Debian package of PHP. */
function file(path: string, packages: string): Tool {
  return { program: `/usr/share/${path}`, package: `${PHP} ${packages}` };
}

/** A library that cannot be had, where it is no fault of ours. */
class Unavailable extends Error {}

async function fetchLibraries(command: string[], env: Record<string, string> = {}): Promise<void> {
  const { exitCode, output } = await run(command, env);
  if (exitCode !== 0) throw new Unavailable(`${command.slice(0, 4).join(" ")} failed: ${output.trim().slice(-500)}`);
}

async function withTools(tools: Tool[], prepare: () => Promise<Submit>): Promise<string | Submit> {
  return (await ensureTools(tools)) ?? (await orWhyNot(prepare));
}

/** Where one is missing that no package brings in the version that is needed. */
async function withPrograms(programs: string[], prepare: () => Promise<Submit>): Promise<string | Submit> {
  const lacking = programs.filter((each) => Bun.which(each) === null);
  return lacking.length > 0 ? `this machine lacks ${lacking.join(", ")}` : await orWhyNot(prepare);
}

async function orWhyNot(prepare: () => Promise<Submit>): Promise<string | Submit> {
  try {
    return await prepare();
  } catch (error) {
    if (error instanceof Unavailable) return error.message;
    throw error;
  }
}

function packaged(tools: Tool[], interpreter: string, name: string): Promise<string | Submit> {
  return withTools(tools, async () => program(pathOf(interpreter), join(SENDERS, name)));
}

function program(...command: string[]): Submit {
  return (messages, server) => run([...command, messages], toEnv(server));
}

function toEnv({ host, port, mode, caFile, username, password }: Server): Record<string, string> {
  return {
    SMTP_HOST: host,
    SMTP_PORT: String(port),
    SMTP_TLS: mode,
    SMTP_CA: caFile,
    SMTP_USER: username,
    SMTP_PASSWORD: password,
  };
}

function prepareDjango(): Promise<string | Submit> {
  return withTools([PYTHON, { program: "/var/lib/dpkg/info/python3-venv.list", package: "python3-venv" }], async () => {
    const requirements = join(import.meta.dir, "requirements.txt");
    const version = readFileSync(requirements, "utf8");
    const folder = await bring({
      ...{ root: TOOLS, name: "django", version },
      install: async (place) => {
        await fetchLibraries(["python3", "-m", "venv", place]);
        await fetchLibraries([join(place, "bin/python"), "-m", "pip", "install", "--quiet", "-r", requirements]);
      },
    });
    return program(join(folder, "bin/python"), join(SENDERS, "django_send.py"));
  });
}

function prepareJava(): Promise<string | Submit> {
  return withTools(JAVA, async () => {
    const folder = await build("java", ["pom.xml", "SendMail.java"], async (place) => {
      const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${place}/jars`];
      await fetchLibraries([pathOf("mvn"), "-q", "-B", "-f", join(SENDERS, "java/pom.xml"), ...goal]);
      const compile = ["-encoding", "UTF-8", "-d", join(place, "classes"), "-cp", `${place}/jars/*`];
      await mustRun([pathOf("javac"), ...compile, join(SENDERS, "java/SendMail.java")]);
    });
    return program(pathOf("java"), "-cp", `${folder}/classes:${folder}/jars/*`, "SendMail");
  });
}

function prepareGo(library: string): Promise<string | Submit> {
  return withPrograms(["go"], async () => {
    const sources = ["go.mod", "go.sum", "main.go", "net_smtp.go", "go_mail.go"];
    const folder = await build("go", sources, async (place) => {
      const module = ["-C", join(SENDERS, "go")];
      await fetchLibraries(["go", "-C", join(SENDERS, "go"), "mod", "download"]);
      await mustRun(["go", "build", ...module, "-o", join(place, "submit"), "."]);
    });
    return program(join(folder, "submit"), library);
  });
}

function prepareRust(): Promise<string | Submit> {
  return withPrograms(["cargo"], async () => {
    const folder = await build("rust", ["Cargo.toml", "Cargo.lock", "src/main.rs"], async (place) => {
      const manifest = ["--quiet", "--locked", "--manifest-path", join(SENDERS, "rust/Cargo.toml")];
      await fetchLibraries(["cargo", "fetch", ...manifest]);
      await mustRun(["cargo", "build", "--offline", ...manifest], { CARGO_TARGET_DIR: place });
    });
    return program(join(folder, "debug/submit"));
  });
}

/** Compiles what is in the folder of a language, when it has changed. */
function build(language: string, sources: string[], install: (place: string) => Promise<unknown>): Promise<string> {
  mkdirSync(TOOLS, { recursive: true });
  const version = sources.map((each) => readFileSync(join(SENDERS, language, each), "utf8")).join("");
  return bring({ root: TOOLS, name: `submit-${language}`, version, install });
}
