#!/bin/sh
# Run by image.sh as the first process of namespaces of its own: runs a pombo as a container runtime runs the image.
#   contained.sh first|second ROOT VOLUME [EMULATOR]     ROOT is the image in a folder, and EMULATOR a program in it
# The second container has the first one's volume.
set -eu
turn=$1 root=$2 volume=$3 emulator=${4:-}
mount --make-rprivate /
mkdir -p "$root/proc" "$root/dev"
mount --bind "$volume" "$root/var/lib/pombo"
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
contained="$contained chroot --userspec=10001:10001 --groups=10001 $root $emulator /usr/local/bin/pombo"

if [ "$turn" = first ]; then
  $contained init --config /var/lib/pombo/pombo.toml --hostname mail.example.net --listen 0.0.0.0:8080 >/dev/null
fi
$contained serve >"$root/tmp/log" 2>&1 &
server=$!
tries=0
until $contained health >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 60 ]; then cat "$root/tmp/log"; exit 1; fi
  sleep 0.5
done
curl -fsS -o /dev/null http://127.0.0.1:8080/health
case "$(sed -n 's/^Uid:[[:space:]]*//p' "/proc/$server/status")" in 10001[[:space:]]*) ;; *) echo "not as user 10001"; exit 1 ;; esac
grep -q ":0019 " /proc/net/tcp /proc/net/tcp6
if [ "$turn" = first ]; then $contained workspace create First >/dev/null; fi
$contained workspace list | grep -q First
kill -TERM "$server"
wait "$server"
grep -q pombo.stopped "$root/tmp/log"
if $contained health 2>/dev/null; then exit 1; fi
if [ "$turn" = first ]; then echo "  ok    set up, serves as user 10001 with port 25 open, healthy, stops in order"
else echo "  ok    another container with its volume has its data"; fi
