#!/bin/sh
# Boots the Debian in folder $1 with systemd, in namespaces of its own (see script/install-check); $2 is shown in it
# as /brings. Its own changes stay in memory.
set -eu
mount --make-rprivate /
top=$(mktemp -d)
mount -t tmpfs -o size=2g tmpfs "$top"
mkdir "$top/changes" "$top/work" "$top/root"
mount -t overlay -o "lowerdir=$1,upperdir=$top/changes,workdir=$top/work" overlay "$top/root"
root=$top/root
mkdir -p "$root/brings"
mount --bind -o ro "$2" "$root/brings"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/full" c 1 7
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/tty" c 5 0
mkdir "$root/dev/pts" "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
# Not chroot: systemd makes namespaces for its services from the root of this one.
mkdir "$root/old"
cd "$root"
pivot_root . old
umount -l /old
rmdir /old
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
