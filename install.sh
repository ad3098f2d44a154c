#!/bin/sh
# Installs pombo on a server with systemd, or updates what is installed. As root:
#   ./install.sh ./pombo-linux-x64                          from a local file
#   ./install.sh https://example.net/pombo-linux-x64        from a URL, verified by URL.minisig and URL.sha256
#   ./install.sh https://example.net/pombo/                 the same, for this machine's processor
#   ./install.sh                                            from dist/ of a checkout
#   curl -fsSL https://example.net/pombo/install.sh | sudo sh    from the release that this install.sh belongs to
# Options:
#   --hostname NAME   also set it up (pombo init) and start it; NAME is the reverse DNS name of the server's address
#   --https           with --hostname: serve https with a certificate of Let's Encrypt's; ports 80 and 443 must be open
#   --sha256 HEX      the expected checksum of the executable
#   --public-key KEY  the public key of the releases, as minisign prints it; not from the same place as the executable
#   --uninstall       remove the service and the executable; data, configuration and user stay
#   --purge           with --uninstall: remove them too, with all messages that are not delivered yet
#   --unit            only print the systemd unit
# A second run updates: the new executable is tried first, and rolled back if it fails (pombo update). Configuration
# and data are never changed. Put changes to the service in a drop-in (systemctl edit pombo).
set -eu
# A shell runs what is between braces once it has read the last one: half a download runs nothing.
{
# The key of the releases that come with this file; if empty, --public-key or the key that the installed pombo was built with.
PUBLIC_KEY=
# The folder of the release that this file belongs to (script/release writes it here); POMBO_RELEASE_URL is another one.
RELEASE_URL=

BINARY=/usr/local/bin/pombo
UNIT=/etc/systemd/system/pombo.service
DATA=/var/lib/pombo
CONFIG=/etc/pombo/config.toml
# Where earlier builds kept it.
if [ ! -f "$CONFIG" ] && [ -f /etc/pombo/pombo.toml ]; then CONFIG=/etc/pombo/pombo.toml; fi

# Piped into sh it is in no file, and $0 is the shell's name.
is_file() { case "$0" in *.sh) [ -f "$0" ] ;; *) false ;; esac; }
usage() { if is_file; then sed -n '2,18s/^# \{0,1\}//p' "$0"; else echo "install.sh [FILE|URL] [--hostname NAME [--https]] [--sha256 HEX] [--public-key KEY] [--uninstall [--purge]] [--unit]"; fi; }
say() { printf '%s\n' "$@"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
# Not in a chroot or an image, where systemctl may be there and nobody answers it.
has_systemd() { [ -d /run/systemd/system ] && has systemctl; }

unit() {
  cat <<EOF
[Unit]
Description=pombo, transactional email and SMS
After=network-online.target
Wants=network-online.target
# The cause of a failed start (a port in use, a disk not mounted yet) may pass.
StartLimitIntervalSec=0

[Service]
Type=exec
User=pombo
Group=pombo
ExecStart=$BINARY serve --config $CONFIG
Restart=always
RestartSec=5
# A restart does not help: the database is damaged, or not pombo's (pombo help exit-codes).
RestartPreventExitStatus=78

# A stop waits for running deliveries, records their results and syncs the replica: at most 60 s.
TimeoutStopSec=90
# pombo stops its child itself: the last sync of the replica follows the last write of the database.
KillMode=mixed

# The data directory. Another data_dir, and a folder as [replication] url, need ReadWritePaths= in a drop-in.
StateDirectory=pombo
StateDirectoryMode=0700
UMask=0077

# Not root, with one capability: port 25.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# Not MemoryDenyWriteExecute: the runtime compiles code while it runs.

LimitNOFILE=65536
# The budget for request bodies follows from this limit (docs/operating.md, Memory).
MemoryMax=80%
LimitCORE=0
TasksMax=512

[Install]
WantedBy=multi-user.target
EOF
}

source="" sha256="" public_key=$PUBLIC_KEY hostname="" https="" action=install purge=""
while [ $# -gt 0 ]; do
  case "$1" in
    --hostname | --sha256 | --public-key) [ $# -ge 2 ] || fail "$1 needs a value." ;;
  esac
  case "$1" in
    --hostname) hostname=$2; shift ;;
    --https) https=--https ;;
    --sha256) sha256=$2; shift ;;
    --public-key) public_key=$2; shift ;;
    --uninstall) action=uninstall ;;
    --purge) purge=yes ;;
    --unit) unit; exit 0 ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "install.sh has no option $1. install.sh --help lists them." ;;
    *) [ -z "$source" ] || fail "One executable can be installed, not $source and $1."; source=$1 ;;
  esac
  shift
done

[ "$(uname -s)" = Linux ] || fail "pombo is for Linux."
if is_file; then as_root="sudo $0"; else as_root="curl … | sudo sh"; fi
[ "$(id -u)" = 0 ] || fail "install.sh writes to /usr/local/bin and /etc, so it needs root: $as_root"
[ -z "$https" ] || [ -n "$hostname" ] || fail "--https needs --hostname: the name in the certificate."
[ -z "$purge" ] || [ "$action" = uninstall ] || fail "--purge needs --uninstall."

uninstall() {
  if has_systemd && [ -f "$UNIT" ]; then systemctl disable --now pombo.service || fail "pombo could not be stopped: see systemctl status pombo."; fi
  rm -f "$UNIT" "$BINARY" "$BINARY.previous" "$BINARY.new"
  has_systemd && systemctl daemon-reload
  if [ -z "$purge" ]; then
    say "pombo is uninstalled. Its data is in $DATA and its configuration in /etc/pombo; --uninstall --purge removes them too."
    return 0
  fi
  other=$(sed -n 's/^data_dir *= *"\(.*\)".*/\1/p' "$CONFIG" 2>/dev/null | head -n 1)
  rm -rf "$DATA" /etc/pombo
  if id pombo >/dev/null 2>&1; then userdel pombo; fi
  say "pombo is uninstalled, with its data, its configuration and its user."
  if [ -n "$other" ] && [ "$other" != "$DATA" ]; then say "Its data_dir $other was not removed: remove it yourself."; fi
}

if [ "$action" = uninstall ]; then uninstall; exit 0; fi

case "$(uname -m)" in
  x86_64 | amd64)
    machine=3e00 name=pombo-linux-x64
    # For processors without AVX2. Today's Bun is one for both, a later one may not be.
    grep -qw avx2 /proc/cpuinfo 2>/dev/null || name=pombo-linux-x64-baseline
    ;;
  aarch64 | arm64) machine=b700 name=pombo-linux-arm64 ;;
  *) fail "There is no pombo for this processor ($(uname -m)): it is for x86_64 and aarch64." ;;
esac

# A folder that nobody else can write to.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fetch() {
  if has curl; then
    curl --proto '=https' --proto-redir '=https' --version >/dev/null 2>&1 ||
      fail "This curl is too old to be kept to https: install curl 7.20.2 or newer, or give a file. Nothing was changed."
    curl -fsSL --proto '=https' --proto-redir '=https' --connect-timeout 20 -o "$2" "$1"
  elif has wget; then
    wget --help 2>&1 | grep -q -e --max-redirect ||
      fail "This wget cannot be kept to https: install curl 7.20.2 or GNU Wget 1.11, or newer, or give a file. Nothing was changed."
    fetch_by_wget "$1" "$2"
  else fail "Neither curl nor wget is installed to fetch $1: install one, or give a file. Nothing was changed."; fi
}

# wget follows to http too, so each hop is asked for by itself.
fetch_by_wget() {
  at=$1 hops=0
  while [ "$hops" -le 5 ]; do
    case "$at" in https://*) ;; *) return 1 ;; esac
    if wget -q --tries=2 --timeout=60 --max-redirect=0 --server-response -O "$2" "$at" 2>"$work/headers"; then return 0; fi
    at=$(sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' "$work/headers" | tr -d '\r' | tail -n 1)
    hops=$((hops + 1))
  done
  return 1
}

# Succeeds when URL.minisig is the key's signature of the executable; warns when it cannot be checked; fails otherwise.
verify() {
  if [ -z "$public_key" ] && [ -x "$BINARY" ]; then
    public_key=$("$BINARY" version --json 2>/dev/null | sed -n 's/.*"releaseKey":"\([A-Za-z0-9+\/]*\)".*/\1/p')
  fi
  if [ -z "$public_key" ]; then
    say "NOT VERIFIED: the public key of the releases is unknown (--public-key), so the executable and its checksum are only as trustworthy as $source."
    return 0
  fi
  printf %s "$public_key" | grep -Eqx 'RW[A-Za-z0-9+/]{54}' || fail "--public-key is not a minisign public key: RW and 54 more characters."
  fetch "$source.minisig" "$work/pombo.minisig" || fail "The signature at $source.minisig could not be fetched. Nothing was changed."
  # minisign 0.11 verifies the comment up to its first CR only: a comment with any control character but TAB is refused.
  if [ "$(sed -n 3p "$work/pombo.minisig" | LC_ALL=C tr -d '\t\n' | LC_ALL=C tr -cd '\000-\037\177' | wc -c)" -gt 0 ]; then
    fail "The signature at $source.minisig has control characters in its comment. Nothing was changed."
  fi
  # Read once: what the signature covers is what is believed of it, to the last character.
  comment=$(sed -n '3s/^trusted comment: //p' "$work/pombo.minisig")
  printf '%s\n' "$comment" | tr '\t' '\n' | grep -Fqx "file:${source##*/}" ||
    fail "The signature at $source.minisig is for another file than ${source##*/}. Nothing was changed."
  if has minisign; then
    minisign -Vqm "$work/pombo" -x "$work/pombo.minisig" -P "$public_key" || fail "$source does not match its signature. Nothing was changed."
  elif has openssl && has base64 && openssl version | grep -q '^OpenSSL [3-9]'; then
    verify_by_openssl || fail "$source does not match its signature. Nothing was changed."
  else
    say "NOT VERIFIED: neither minisign nor openssl 3 is installed, so the signature at $source.minisig was not checked."
    return 0
  fi
  new=$(printf '%s\n' "$comment" | tr '\t' '\n' | sed -n 's/^version://p')
  old=$("$BINARY" version --json 2>/dev/null | sed -n 's/.*"version":"\([0-9A-Za-z.+-]*\)".*/\1/p') || true
  # A release comes after its drafts (0.2.0-rc1), as ~ has it for sort.
  if [ -n "$old" ] && [ "$new" != "$old" ] && [ "$(printf '%s\n%s\n' "$new" "$old" | tr - '~' | sort -V | tail -n 1)" = "$(printf %s "$old" | tr - '~')" ]; then
    fail "$source is pombo ${new:-of no version}, and $old is installed: the older version lacks later fixes. To install it anyway, download it and run pombo update FILE. Nothing was changed."
  fi
  say "Verified: $(printf %s "$comment" | tr '\t' ' ')"
}

# A key and a signature of minisign's are two letters and eight octets of a name, and then what openssl knows.
verify_by_openssl() (
  cd "$work"
  sed -n 2p pombo.minisig | base64 -d >first && sed -n 4p pombo.minisig | base64 -d >global
  printf %s "$public_key" | base64 -d >key
  [ "$(wc -c <first)" -eq 74 ] && [ "$(wc -c <global)" -eq 64 ] && [ "$(wc -c <key)" -eq 42 ] || return 1
  # The same key by its name.
  [ "$(dd if=first bs=1 skip=2 count=8 2>/dev/null | od -An -tx1)" = "$(dd if=key bs=1 skip=2 count=8 2>/dev/null | od -An -tx1)" ] || return 1
  # RFC 8410: what stands before an Ed25519 key.
  { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; tail -c 32 key; } >key.der
  tail -c 64 first >signature
  case "$(head -c 2 first)" in
    ED) openssl dgst -blake2b512 -binary pombo >signed ;;
    Ed) ln -s pombo signed ;;
    *) return 1 ;;
  esac
  { cat signature; printf %s "$comment"; } >trusted
  openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in signed -sigfile signature >/dev/null 2>&1 &&
    openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in trusted -sigfile global >/dev/null 2>&1
)

bring() {
  if [ -z "$source" ]; then
    base=${POMBO_RELEASE_URL:-$RELEASE_URL}
    if is_file; then
      here=$(cd "$(dirname "$0")" && pwd)
      for each in "$here/dist/$name" "$here/dist/pombo" "$here/$name"; do
        if [ -z "$source" ] && [ -f "$each" ]; then source=$each; fi
      done
    fi
    if [ -z "$source" ] && [ -n "$base" ]; then source=${base%/}/$name; fi
    [ -n "$source" ] || fail "Which executable? Give a file or a URL: $0 ./$name (in a checkout, script/build makes dist/pombo)."
  fi
  case "$source" in
    https://*)
      case "$source" in */) source=$source$name ;; esac
      fetch "$source" "$work/pombo" || fail "$source could not be fetched. Nothing was changed."
      if [ -z "$sha256" ]; then
        fetch "$source.sha256" "$work/sha256" || fail "The checksum at $source.sha256 could not be fetched: give it with --sha256. Nothing was changed."
        sha256=$(cut -c 1-64 "$work/sha256" | head -n 1)
      fi
      verify
      ;;
    http://*) fail "$source is not https: anybody on the network could change it." ;;
    *)
      [ -f "$source" ] || fail "$source is not a file."
      cp "$source" "$work/pombo"
      if [ -z "$sha256" ] && [ -f "$source.sha256" ]; then sha256=$(cut -c 1-64 "$source.sha256" | head -n 1); fi
      ;;
  esac
  found=$(sha256sum "$work/pombo" | cut -c 1-64)
  if [ -n "$sha256" ] && [ "$found" != "$(printf %s "$sha256" | tr A-F a-f)" ]; then
    fail "$source does not match its checksum: expected $sha256, found $found. Nothing was changed."
  fi
  [ "$(od -An -tx1 -N 4 "$work/pombo" | tr -d ' \n')" = 7f454c46 ] || fail "$source is not an executable for Linux. Nothing was changed."
  [ "$(od -An -tx1 -j 18 -N 2 "$work/pombo" | tr -d ' \n')" = "$machine" ] || fail "$source is for another processor than this one ($(uname -m)): take $name. Nothing was changed."
  chmod 0755 "$work/pombo"
}

bring
# A place that programs may be run from, which /tmp need not be.
install -m 0755 "$work/pombo" "$BINARY.new"
what=$("$BINARY.new" version 2>"$work/words") || {
  rm -f "$BINARY.new"
  fail "The executable does not run here: $(head -n 1 "$work/words"). It needs a Linux with glibc, and an x86_64 processor with SSE4.2 or an aarch64 one. Nothing was changed."
}

if ! id pombo >/dev/null 2>&1; then
  useradd --system --user-group --home-dir "$DATA" --no-create-home --shell /usr/sbin/nologin pombo
fi
install -d -o pombo -g pombo -m 0700 "$DATA"
# Root follows the configuration too (pombo update): root owns it, and pombo reads it.
install -d -o root -g pombo -m 0750 /etc/pombo
# Files of earlier installations, whose folder was pombo's. Copied: what pombo's user has open for writing would go on
# writing to a file that changes its owner. A file with a second link is left: it may be something else.
find /etc/pombo -xdev -mindepth 1 -maxdepth 1 -type f -links 1 -user pombo \
  -exec sh -c 'install -o root -g pombo -m 0640 "$1" "$2" && mv -f "$2" "$1"' sh {} "$work/config" \;

if [ -d /etc/systemd/system ]; then
  unit >"$work/unit"
  if ! cmp -s "$work/unit" "$UNIT"; then
    install -m 0644 "$work/unit" "$UNIT"
    if has_systemd; then systemctl daemon-reload; fi
  fi
fi

if [ -x "$BINARY" ] && [ -f "$CONFIG" ]; then
  mv -f "$BINARY.new" "$work/pombo"
  "$BINARY" update "$work/pombo" --sha256 "$found" --config "$CONFIG" || exit 1
else
  mv -f "$BINARY.new" "$BINARY"
fi
say "$what is installed."

if [ ! -f "$CONFIG" ] && [ -n "$hostname" ]; then
  # Started below, where systemd runs.
  "$BINARY" init --config "$CONFIG" --data-dir "$DATA" --hostname "$hostname" $https $(if has_systemd; then echo --no-next-steps; fi)
fi
if [ ! -f "$CONFIG" ]; then
  say "" "Set it up, with the reverse DNS name of the server's address:"
  say "  sudo pombo init --config $CONFIG --hostname mail.example.net"
  exit 0
fi
if has_systemd; then
  systemctl enable --now pombo.service || fail "pombo does not start: journalctl -u pombo says why."
  say "" "pombo runs: systemctl status pombo, journalctl -u pombo. Next, if nobody operates it yet, open the link to the dashboard"
  say "that is shown above, or another one, and create a workspace there:"
  say "  sudo -u pombo pombo dashboard link"
else
  say "" "systemd does not run here. As the user pombo, with the right to port 25, start it: pombo serve --config $CONFIG"
fi
exit 0
}
