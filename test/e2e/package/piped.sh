#!/bin/sh
# Run by script/release-check as root inside a Debian that systemd has booted: installs pombo by `curl … | sh` from a release
# that release-server.ts serves, and looks at what is left by each way it can fail. $1: the folder with ca.crt and url.
set -eu
BRINGS=$1
SITE=https://releases.test
passed=0

installed() { ls -d /usr/local/bin/pombo* /etc/systemd/system/pombo.service /etc/pombo /var/lib/pombo 2>/dev/null || id pombo 2>/dev/null; }
is() { # is WHAT COMMAND…: it must succeed
  what=$1; shift
  if "$@" >/tmp/said 2>&1; then passed=$((passed + 1)); echo "  ok    $what"
  else echo "  FAIL  $what"; sed 's/^/        /' /tmp/said; exit 1; fi
}
says() { # says WHAT TEXT COMMAND…: and say so
  what=$1 text=$2; shift 2
  if "$@" >/tmp/said 2>&1 && grep -q -e "$text" /tmp/said; then passed=$((passed + 1)); echo "  ok    $what"
  else echo "  FAIL  $what: no \"$text\" in"; sed 's/^/        /' /tmp/said; exit 1; fi
}
refuses() { # refuses WHAT SENTENCE COMMAND…: it must fail with the sentence, and nothing may be installed
  what=$1 text=$2; shift 2
  if "$@" >/tmp/said 2>&1; then echo "  FAIL  $what: not refused"; sed 's/^/        /' /tmp/said; exit 1; fi
  if ! grep -q -e "$text" /tmp/said; then echo "  FAIL  $what: no \"$text\" in"; sed 's/^/        /' /tmp/said; exit 1; fi
  if installed >/tmp/left; then echo "  FAIL  $what: installed $(tr '\n' ' ' </tmp/left)"; exit 1; fi
  if ls -d /tmp/tmp.* >/tmp/left 2>/dev/null; then echo "  FAIL  $what: left $(tr '\n' ' ' </tmp/left)"; exit 1; fi
  passed=$((passed + 1)); echo "  ok    $what: $(grep -e "$text" /tmp/said | head -n 1 | cut -c 1-150)"
}
# As pasted; the exit code is that of the last command, sh.
pipe() { from=$1; shift; curl -fsS "$SITE/$from/install.sh" | sh -s -- "$@"; }
pipe_with() { from=$1; shift; curl -fsS "$SITE/good/install.sh" | env "POMBO_RELEASE_URL=$from" sh -s -- "$@"; }

ip link set lo up
grep -q releases.test /etc/hosts 2>/dev/null || echo "127.0.0.1 releases.test" >>/etc/hosts
cp "$BRINGS/ca.crt" /usr/local/share/ca-certificates/releases.crt
update-ca-certificates >/dev/null 2>&1
cd /root

is "the release is served" curl -fsS -o /tmp/install.sh "$SITE/good/install.sh"

# Half a script.
refuses "the pipe ends in the middle" "Syntax error" pipe cut
refuses "the pipe ends just before the end" "Syntax error" pipe cut-late
each_prefix() {
  # Up to the first brace there is nothing to run.
  size=$(wc -c </tmp/install.sh) at=$(($(grep -bx '{' /tmp/install.sh | cut -d : -f 1) + 1))
  while [ "$at" -lt $((size - 1)) ]; do
    if head -c "$at" /tmp/install.sh | sh -s -- --hostname mail.example.net; then echo "the first $at octets ran"; return 0; fi
    # The last lines octet by octet.
    if [ "$at" -gt $((size - 120)) ]; then at=$((at + 1)); else at=$((at + 61)); fi
  done
  echo "none ran"; return 1
}
refuses "no part of the script runs" "none ran" each_prefix

# A download that is not what it should be.
refuses "another checksum" "does not match its checksum" pipe_with $SITE/checksum
refuses "a changed executable with a fitting checksum" "does not match its signature" pipe_with $SITE/changed
refuses "no signature" "could not be fetched" pipe_with $SITE/unsigned
refuses "another key than the release's" "does not match its signature" pipe good --public-key "$(cat "$BRINGS/other.pub")"
refuses "a download that ends in the middle" "could not be fetched" pipe_with $SITE/cut
refuses "a redirection to http" "could not be fetched" pipe_with $SITE/http
refuses "an address with http" "is not https" pipe_with http://releases.test/good
refuses "nothing there" "could not be fetched" pipe_with $SITE/missing
refuses "a host that is not there" "could not be fetched" pipe_with https://nowhere.test/good

# The wrong machine, the wrong user.
refuses "a 32-bit processor" "no pombo for this processor (i686)" setarch i686 sh -c "curl -fsS $SITE/good/install.sh | sh"
as_user() { runuser -u nobody -- sh -c "curl -fsS $SITE/good/install.sh | sh"; }
refuses "a normal user" "needs root: curl … | sudo sh" as_user

# The wrong tools. What fetches install.sh itself is not the question.
without_curl() { cat /tmp/install.sh | POMBO_RELEASE_URL=$1 sh; }
mv /usr/bin/curl /usr/bin/curl-kept
for fault in checksum:"does not match its checksum" changed:"does not match its signature" cut:"could not be fetched" http:"could not be fetched"; do
  refuses "wget only, ${fault%%:*}" "${fault#*:}" without_curl "$SITE/${fault%%:*}"
done
mv /usr/bin/wget /usr/bin/wget-kept
ln -s /bin/busybox /usr/bin/wget
refuses "busybox's wget, which checks no certificate" "cannot be kept to https" without_curl $SITE/good
rm /usr/bin/wget
refuses "neither curl nor wget" "Neither curl nor wget is installed" without_curl $SITE/good
# What curl before 7.20.2 does.
printf '#!/bin/sh\ncase "$*" in *--proto*) echo "curl: option --proto: is unknown" >&2; exit 2 ;; esac\nexec curl-kept "$@"\n' >/usr/bin/curl
chmod 755 /usr/bin/curl
refuses "an old curl" "curl is too old" pipe good
mv /usr/bin/curl-kept /usr/bin/curl

# A folder of somebody else's: what lies there is not the release.
mkdir /tmp/theirs && cd /tmp/theirs
touch sh && printf 'not from the release\n' | tee pombo-linux-x64 pombo-linux-x64-baseline >/dev/null
mkdir dist && cp pombo-linux-x64 dist/pombo

says "curl … | sh in it installs the release" "Verified: version:" pipe good
cd /root && rm -r /tmp/theirs
is "it runs" pombo version
says "uninstalled by the same pipe" "is uninstalled" pipe good --uninstall --purge
mv /usr/bin/curl /usr/bin/curl-kept && mv /usr/bin/wget-kept /usr/bin/wget
by_wget() { wget -qO- "$SITE/good/install.sh" | sh; }
says "wget … | sh installs the release" "Verified: version:" by_wget
mv /usr/bin/curl-kept /usr/bin/curl
says "uninstalled" "is uninstalled" pipe good --uninstall --purge

useradd --create-home ana && echo "ana ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/ana
by_sudo() { runuser -u ana -- sh -c "curl -fsS $SITE/good/install.sh | sudo sh -s -- --hostname mail.example.net"; }
says "curl … | sudo sh of a user sets it up and starts it" "dashboard link" by_sudo
is "the service runs" systemctl is-active --quiet pombo.service
healthy() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do pombo health && return 0; sleep 0.5; done; return 1; }
is "and is healthy" healthy
pid=$(systemctl show --property=MainPID --value pombo.service)
says "the same pipe again changes nothing" "already" pipe good
is "and restarts nothing" test "$(systemctl show --property=MainPID --value pombo.service)" = "$pid"
for fault in checksum changed cut; do
  is "an update from /$fault is refused" sh -c "! curl -fsS $SITE/good/install.sh | POMBO_RELEASE_URL=$SITE/$fault sh"
  is "and the service runs on" test "$(systemctl show --property=MainPID --value pombo.service)" = "$pid"
done
says "uninstalled, with its data" "is uninstalled" pipe good --uninstall --purge
is "nothing is left" sh -c "! ls -d /usr/local/bin/pombo* /etc/systemd/system/pombo.service /etc/pombo /var/lib/pombo"

echo "$passed checks inside"
