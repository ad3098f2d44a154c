// What a process that pombo starts is told by its environment: what pombo's configuration can name, and how the
// machine reaches the network. Nothing that changes how a program is loaded or run (LD_PRELOAD, BUN_OPTIONS,
// NODE_OPTIONS) is passed on.

type Environment = Readonly<Record<string, string | undefined>>;

const PASSED =
  /^(POMBO_\w+|HTTP_PROXY|HTTPS_PROXY|NO_PROXY|http_proxy|https_proxy|no_proxy|SSL_CERT_FILE|SSL_CERT_DIR|TZ|LANG|LC_\w+)$/;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function passedOn(env: Environment): Record<string, string> {
  const passed = Object.entries(env).filter((entry): entry is [string, string] => PASSED.test(entry[0]));
  return { PATH, ...Object.fromEntries(passed.filter(([, value]) => value !== undefined)) };
}
