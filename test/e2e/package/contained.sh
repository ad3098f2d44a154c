#!/bin/sh
# Run by image.sh as the first process of namespaces of its own: the image in folder $1 as a container runtime runs it.
set -eu
root=$1
mount --make-rprivate /
mkdir -p "$root/proc" "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/random" c 1 8
ip link set lo up
# As container runtimes have it.
mount -t proc proc /proc
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
contained="env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/bin POMBO_CONFIG=/var/lib/pombo/pombo.toml"
contained="$contained chroot --userspec=10001:10001 --groups=10001 $root /usr/local/bin/pombo"

$contained version
$contained init --config /var/lib/pombo/pombo.toml --hostname mail.example.net >/dev/null
$contained serve >"$root/tmp/log" 2>&1 &
server=$!
tries=0
until $contained health 2>/dev/null; do
  tries=$((tries + 1))
  if [ "$tries" -gt 40 ]; then cat "$root/tmp/log"; exit 1; fi
  sleep 0.5
done
$contained workspace create First >/dev/null
grep -q ":0019 " /proc/net/tcp /proc/net/tcp6
kill -TERM "$server"
wait "$server"
grep -q pombo.stopped "$root/tmp/log"
if $contained health 2>/dev/null; then exit 1; fi
echo "  ok    set up, served with port 25 open, healthy, stopped in order, no longer healthy"
