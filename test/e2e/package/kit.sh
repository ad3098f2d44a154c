# For script/install-check and script/release-check, which source it: counts, packages, a Debian, and one that systemd
# has booted. The caller stands in the checkout. It gives $work, a folder that goes with the script, and $passed, $failed.

readonly SUITE=bookworm
readonly MIRROR=${POMBO_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# What is put into a system or an image is read by other users there.
umask 022
work=$(mktemp -d /var/tmp/pombo-check.XXXXXX)
system="" unshared=""
# PID 1 of the namespaces: with it goes everything in them.
halt() { if [ -n "$system" ]; then kill -KILL "$system" 2>/dev/null; wait "$unshared" 2>/dev/null; system=""; fi; }
trap 'halt; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

passed=0 failed=0
ok() { passed=$((passed + 1)); printf 'ok       %s\n' "$*"; }
bad() { failed=$((failed + 1)); printf 'FAILED   %s\n' "$*"; }
skip() { printf '\nSKIPPED  %s\n\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }
# want COMMAND PACKAGE…: installed where that can be.
want() {
  local command=$1; shift
  has "$command" && return 0
  [ "$(id -u)" = 0 ] && has apt-get || return 1
  echo "Installing $* …"
  apt-get install -y --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
    { apt-get update >>"$work/apt.log" 2>&1 && apt-get install -y --no-install-recommends "$@" >>"$work/apt.log" 2>&1; }
  has "$command"
}
# The last line, and the exit code: 2 when nothing could be done.
finish() {
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] || exit 1
  [ "$passed" -gt 0 ] || exit 2
  exit 0
}

# A Debian in $root, kept in .tools for the next time.
debian() {
  root=$PWD/.tools/debian-$SUITE
  # The last of the packages below, so that a tree of an earlier checkout is made anew.
  [ -x "$root/usr/bin/sudo" ] && return 0
  want debootstrap debootstrap || return 1
  echo "Making a Debian in .tools (minutes) …"
  rm -rf "$root.new"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,iproute2,curl,wget,busybox,sudo \
    "$SUITE" "$root.new" "$MIRROR" >"$work/debootstrap.log" 2>&1 || { tail -n 3 "$work/debootstrap.log"; rm -rf "$root.new"; return 1; }
  rm -rf "$root" && mv "$root.new" "$root"
}

# boot FOLDER: systemd in that Debian, in namespaces of its own, whose PID 1 is $system; FOLDER is /brings in it.
boot() {
  unshare --mount --pid --fork --uts --ipc --cgroup --net sh test/e2e/package/boot.sh "$root" "$1" >"$work/boot.log" 2>&1 &
  unshared=$!
  local pid="" tries=0
  while [ $tries -lt 100 ]; do
    pid=$(cat "/proc/$unshared/task/$unshared/children" 2>/dev/null | tr -d ' ')
    if [ -n "$pid" ] && nsenter -t "$pid" -a --root --wd systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; then break; fi
    kill -0 "$unshared" 2>/dev/null || break
    tries=$((tries + 1)); sleep 0.3
  done
  system=$pid
  [ -n "$pid" ] && kill -0 "$unshared" 2>/dev/null && [ $tries -lt 100 ] && return 0
  skip "the service: systemd cannot be booted here: $(tail -n 2 "$work/boot.log" | tr '\n' ' ')"
  return 1
}
# inside COMMAND…: in what was booted
inside() { nsenter -t "$system" -a --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin "$@"; }
