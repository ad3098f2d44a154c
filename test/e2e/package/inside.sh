#!/bin/sh
# Run by script/install-check as root inside a Debian that systemd has booted: installs pombo as an operator would,
# and looks at what is there. $1: the folder with install.sh, pombo and pombo-next.
set -eu
BRINGS=$1
passed=0

is() { # is WHAT COMMAND…: it must succeed
  what=$1; shift
  if "$@" >/tmp/said 2>&1; then passed=$((passed + 1)); echo "  ok    $what"
  else echo "  FAIL  $what"; sed 's/^/        /' /tmp/said; journalctl -u pombo --no-pager -n 20 | sed 's/^/        /'; exit 1; fi
}
says() { # says WHAT TEXT COMMAND…: and say so
  what=$1 text=$2; shift 2
  if "$@" >/tmp/said 2>&1 && grep -q -- "$text" /tmp/said; then passed=$((passed + 1)); echo "  ok    $what"
  else echo "  FAIL  $what: no \"$text\" in"; sed 's/^/        /' /tmp/said; journalctl -u pombo --no-pager -n 20 | sed 's/^/        /'; exit 1; fi
}
property() { systemctl show --property="$1" --value pombo.service; }
of_process() { grep "^$1:" "/proc/$(property MainPID)/status"; }
workspaces() { runuser -u pombo -- pombo workspace list --config /etc/pombo/config.toml; }
until_answers() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do workspaces >/dev/null 2>&1 && return 0; sleep 0.5; done; workspaces; }
refuses() { ! "$@"; }

ip link set lo up 2>/dev/null || true
cd "$BRINGS"

is "a file that is no executable is refused" refuses ./install.sh ./install.sh
is "another checksum is refused" refuses ./install.sh ./pombo --sha256 0000000000000000000000000000000000000000000000000000000000000000
is "nothing was installed by that" refuses test -e /usr/local/bin/pombo
says "installs, sets up and starts" "dashboard/setup#" ./install.sh ./pombo --hostname mail.example.net
cp /tmp/said /tmp/printed
is "it says once how to go on" test "$(grep -c "^  sudo -u pombo pombo dashboard link$" /tmp/printed)" = 1
is "and not to start what it has started" refuses grep -q "Start it" /tmp/printed
is "it runs" systemctl is-active --quiet pombo.service
is "it answers" until_answers
says "as its own user" "^Uid:.$(id -u pombo)" of_process Uid
says "with the right to port 25 and no other" "0000000000000400" of_process CapEff
says "without new privileges" "1$" of_process NoNewPrivs
says "with filtered system calls" "2$" of_process Seccomp
says "its data is its own" "^700 pombo$" stat -c "%a %U" /var/lib/pombo
says "its configuration is root's, for it to read" "^640 root pombo$" stat -c "%a %U %G" /etc/pombo/config.toml
says "in a folder that it cannot write to" "^750 root pombo$" stat -c "%a %U %G" /etc/pombo
says "a command of root's" "no workspaces" pombo workspace list --config /etc/pombo/config.toml
is "leaves nothing of root's in the data" test -z "$(find /var/lib/pombo ! -user pombo)"
says "port 25 is open" ":0019 " cat /proc/net/tcp /proc/net/tcp6
says "the printed next step" "dashboard/setup#" runuser -u pombo -- pombo dashboard link
says "a command by the service's user" "api\|key\|svc_" runuser -u pombo -- pombo workspace create First --plan starter --config /etc/pombo/config.toml
says "it starts at boot" "enabled" systemctl is-enabled pombo.service

before=$(pombo version)
first_pid=$(property MainPID)
says "the same again changes nothing" "already" ./install.sh ./pombo
is "and restarts nothing" test "$(property MainPID)" = "$first_pid"

# An earlier installation, whose configuration was pombo's, and is open for writing still.
chown pombo:pombo /etc/pombo /etc/pombo/config.toml
runuser -u pombo -- sh -c 'exec 7>>/etc/pombo/config.toml; touch /tmp/is-open; sleep 5; echo "not toml" >&7; touch /tmp/is-written' &
until [ -e /tmp/is-open ]; do sleep 0.1; done
is "an earlier installation is taken over" ./install.sh ./pombo
says "its configuration is root's then" "^640 root pombo$" stat -c "%a %U %G" /etc/pombo/config.toml
until [ -e /tmp/is-written ]; do sleep 0.1; done
is "and what was opened before writes nothing to it" refuses grep -q "not toml" /etc/pombo/config.toml

# The next pombo fails at its real start.
mkdir -p /etc/systemd/system/pombo.service.d
printf '[Service]\nEnvironment=POMBO_TEST_FAULT=start\n' >/etc/systemd/system/pombo.service.d/fault.conf
systemctl daemon-reload
systemctl restart pombo.service
is "it answers again" until_answers
is "an update to one that fails is refused" refuses ./install.sh ./pombo-next
is "the old one is back" test "$(pombo version)" = "$before"
is "and answers" until_answers
says "with what it knew" "First" workspaces

rm -r /etc/systemd/system/pombo.service.d
systemctl daemon-reload
systemctl restart pombo.service
is "it answers once more" until_answers
says "run again it updates" "runs" ./install.sh ./pombo-next
is "it is another one" refuses test "$(pombo version)" = "$before"
is "it answers" until_answers
says "and knows what was known" "First" workspaces

is "nothing of root's is in the data after the updates" test -z "$(find /var/lib/pombo ! -user pombo)"
says "the executable is root's" "^755 root$" stat -c "%a %U" /usr/local/bin/pombo

run=$(property InvocationID)
is "it stops" systemctl stop pombo.service
says "in order" "success" property Result
# By the run, and not the last lines: systemd's own may come before or after.
says "and said so" "pombo.stopped" journalctl --no-pager "_SYSTEMD_INVOCATION_ID=$run"

# A database that is another file: said once, and not tried again and again.
mv /var/lib/pombo/pombo.db /var/lib/pombo/kept.db
runuser -u pombo -- sh -c 'echo "no database" >/var/lib/pombo/pombo.db'
systemctl start pombo.service || true
for _ in 1 2 3 4 5 6 7 8 9 10; do systemctl is-failed --quiet pombo.service && break; sleep 0.5; done
is "a start that cannot succeed is given up" systemctl is-failed --quiet pombo.service
says "and says why" "is not a database" journalctl -u pombo --no-pager -n 5
says "with 78" "78" property ExecMainStatus
rm /var/lib/pombo/pombo.db
mv /var/lib/pombo/kept.db /var/lib/pombo/pombo.db
systemctl reset-failed pombo.service
systemctl start pombo.service
is "with its database it answers" until_answers

says "uninstalls, and says what it leaves" "/var/lib/pombo" ./install.sh --uninstall
is "the service is gone" refuses systemctl is-active --quiet pombo.service
is "so is the executable" refuses test -e /usr/local/bin/pombo
is "the data is there" test -s /var/lib/pombo/pombo.db
says "installed again it finds its data" "pombo runs" ./install.sh ./pombo-next
is "and answers" until_answers
says "with what it knew" "First" workspaces
is "uninstalls with everything" ./install.sh --uninstall --purge
is "nothing is left" refuses ls -d /var/lib/pombo /etc/pombo /usr/local/bin/pombo /etc/systemd/system/pombo.service
is "nor its user" refuses id pombo
# Set up by hand, as root, from wherever root stands; then what is printed, as it is pasted (there is no sudo here).
sudo() { if [ "$1" = -u ]; then user=$2; shift 2; runuser -u "$user" -- "$@"; else "$@"; fi; }
printed() { sed -n "/^$1/,\$s/^  //p" /tmp/printed | head -n 1; }
is "installs without a set-up" ./install.sh ./pombo
cd /root
is "init as root without --config" sh -c 'pombo init --hostname mail.example.net >/tmp/printed'
is "writes nothing where root stands" refuses test -e /root/pombo.toml
says "but the service's configuration" "^640 root pombo$" stat -c "%a %U %G" /etc/pombo/config.toml
is "its data belong to the service" test -z "$(find /var/lib/pombo ! -user pombo)"
says "the printed start" "systemctl enable" printed "Start it"
is "works as pasted" eval "$(printed "Start it")"
is "it answers" until_answers
says "the printed first command" "workspace create" printed "Then create"
says "works as pasted" "svc_" eval "$(printed "Then create")"
says "another user learns how to ask" "sudo -u pombo pombo status" refuses runuser -u nobody -- pombo status
cd "$BRINGS"
is "uninstalls that too" ./install.sh --uninstall --purge
is "a folder of root's own" mkdir -p /srv/mail
is "another data directory" sh -c './install.sh ./pombo >/dev/null && pombo init --hostname mail.example.net --data-dir /srv/mail/data >/tmp/printed'
says "belongs to the service" "^700 pombo$" stat -c "%a %U" /srv/mail/data
is "its drop-in is printed" grep -q "ReadWritePaths=/srv/mail/data" /tmp/printed
is "uninstalls once more" ./install.sh --uninstall --purge
rm -r /srv/mail

# With https, where no authority is reached.
is "installs with https" ./install.sh ./pombo --hostname mail.example.net --https
is "it runs" systemctl is-active --quiet pombo.service
is "it answers" until_answers
says "port 443 is open" ":01BB " cat /proc/net/tcp /proc/net/tcp6
says "so is port 80, for the authority" ":0050 " cat /proc/net/tcp /proc/net/tcp6
says "with the same right and no other" "0000000000000400" of_process CapEff
says "it says that a self-made certificate is shown" "self-made" refuses runuser -u pombo -- pombo tls
is "uninstalls that as well" ./install.sh --uninstall --purge

echo "$passed checks inside"
