#!/usr/bin/env bash
# Run by script/release-check: runs the OCI image in archive $1 as a container would, twice with one volume, in folder $2;
# $3 is the static emulator of its processor, if it needs one. buildah's storage is named by CONTAINERS_STORAGE_CONF.
set -uo pipefail
archive=$1 work=$2 emulator=${3:-}
mkdir -p "$work/volume"
fail() { echo "  FAIL  $*"; exit 1; }
ok() { echo "  ok    $*"; }

image=$(buildah pull --quiet "oci-archive:$archive") || fail "buildah cannot read it"
setting() { buildah inspect --type image --format "{{$1}}" "$image"; }
[ "$(setting .OCIv1.Config.User)" = 10001:10001 ] && ok "not root" || fail "user $(setting .OCIv1.Config.User)"
[ "$(setting .OCIv1.Config.StopSignal)" = SIGTERM ] && ok "stops by SIGTERM" || fail "stop signal"
[[ "$(setting .OCIv1.Config.Volumes)" == *"/var/lib/pombo"* ]] && ok "a volume for its data" || fail "volumes"
[[ "$(buildah inspect --type image "$image")" == *HEALTHCHECK*pombo*health* ]] && ok "made with a health check, which OCI drops" || fail "no health check"

for turn in first second; do
  container=$(buildah from --pull-never "$image") && mounted=$(buildah mount "$container") || fail "it cannot be mounted"
  if [ "$turn" = first ]; then
    ok "$(setting .OCIv1.Architecture), $(($(stat -c %s "$archive") / 1000000)) MB packed, $(du -s --block-size=1000000 "$mounted" | cut -f 1) MB unpacked"
    [ ! -e "$mounted/bin/sh" ] && ok "no shell in it" || fail "a shell is in it"
    if [ -z "$emulator" ]; then
      said=$(buildah run --isolation chroot "$container" -- /usr/local/bin/pombo version) && ok "buildah run: $said" || fail "buildah run"
    fi
    # As docker fills a new volume.
    cp -a "$mounted/var/lib/pombo/." "$work/volume/"
    chown --reference="$mounted/var/lib/pombo" "$work/volume" && chmod --reference="$mounted/var/lib/pombo" "$work/volume"
    [ "$(stat -c "%a %u %g" "$work/volume")" = "700 10001 10001" ] && ok "its data are for its user only" || fail "the volume is $(stat -c "%a %u %g" "$work/volume")"
  fi
  if [ -n "$emulator" ]; then cp "$emulator" "$mounted/emulator"; fi
  unshare --mount --pid --fork --uts --ipc --net sh test/e2e/package/contained.sh "$turn" "$mounted" "$work/volume" ${emulator:+/emulator} ||
    fail "the $turn container does not run as it should"
  buildah rm "$container" >/dev/null
done
