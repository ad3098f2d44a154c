// The environment of child processes: variables that the configuration can name, proxies, certificates and locale.
// Variables that change how a program is loaded or run (LD_PRELOAD, BUN_OPTIONS, NODE_OPTIONS) are not passed on.

type Environment = Readonly<Record<string, string | undefined>>;

const PASSED =
  /^(POMBO_\w+|HTTP_PROXY|HTTPS_PROXY|NO_PROXY|http_proxy|https_proxy|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|TZ|LANG|LC_\w+)$/;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function pickEnvironment(env: Environment): Record<string, string> {
  const passed = Object.entries(env).filter((entry): entry is [string, string] => PASSED.test(entry[0]));
  return { PATH, ...Object.fromEntries(passed.filter(([, value]) => value !== undefined)) };
}
