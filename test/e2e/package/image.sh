#!/usr/bin/env bash
# Run by script/install-check: builds the Dockerfile with buildah, the Debian in folder $1 standing for its base
# image, the executable $2 in it, in folder $3; then runs what came out as a container would. 2: buildah cannot here.
set -uo pipefail
root=$1 binary=$2 work=$3/image
mkdir -p "$work/context/dist"
tool() { local word=$1; shift; buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$word" "$@"; }
fail() { echo "  FAIL  $*"; exit 1; }
ok() { echo "  ok    $*"; }

base=$(tool from scratch 2>"$work/log") && tool add --quiet "$base" "$root" / >>"$work/log" 2>&1 &&
  tool commit --quiet "$base" pombo-base >>"$work/log" 2>&1 || { tail -2 "$work/log"; exit 2; }
tool rm "$base" >/dev/null
cp "$binary" "$work/context/dist/pombo"
tool bud --isolation chroot --format docker --build-arg BASE=localhost/pombo-base -f Dockerfile -t pombo "$work/context" >"$work/log" 2>&1 ||
  { tail -5 "$work/log"; fail "it cannot be built"; }
ok "built"
setting() { tool inspect --type image --format "{{$1}}" pombo; }
[ "$(setting .Docker.Config.User)" = 10001:10001 ] && ok "not root" || fail "user $(setting .Docker.Config.User)"
[ "$(setting .Docker.Config.StopSignal)" = SIGTERM ] && ok "stops by SIGTERM" || fail "stop signal"
[[ "$(setting .Docker.Config.Volumes)" == *"/var/lib/pombo"* ]] && ok "a volume for its data" || fail "volumes"
[[ "$(setting .Docker.Config.Healthcheck)" == *"health"* ]] && ok "a health check" || fail "health check"

container=$(tool from pombo) && mounted=$(tool mount "$container") || fail "it cannot be mounted"
size=$(du -s --block-size=MB "$mounted" | cut -f 1)
ok "$size, of which the executable $(($(stat -c %s "$binary") / 1000000))MB"
[ ! -e "$mounted/bin/sh" ] && ok "no shell in it" || fail "a shell is in it"
cp test/e2e/package/contained.sh "$work/contained.sh"
unshare --mount --pid --fork --uts --ipc --net sh "$work/contained.sh" "$mounted" || fail "it does not run as it should"
tool rm "$container" >/dev/null
