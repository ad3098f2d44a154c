#!/usr/bin/env bash
# Installs pombo on a server with systemd, from a checkout: builds the executable when there is none,
# copies it to /usr/local/bin, makes the user and the service. Run it again to install a newer build;
# it touches neither configuration nor data. As root:  ./install.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly BINARY=/usr/local/bin/pombo
readonly CONFIG=/etc/pombo/pombo.toml
readonly UNIT=/etc/systemd/system/pombo.service

fail() { printf '%s\n' "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "install.sh writes to /usr/local/bin and /etc, so it needs root: sudo ./install.sh"
[ "$(uname -s)" = Linux ] || fail "install.sh is for Linux. Elsewhere, run script/build and start dist/pombo yourself."

# A build that is older than what it is made of would install yesterday's pombo.
if [ ! -x dist/pombo ] || { [ -d src ] && [ -n "$(find src migrations package.json bun.lock -newer dist/pombo -print -quit)" ]; }; then
  bash script/build
fi
install -m 0755 dist/pombo "$BINARY.new"
mv -f "$BINARY.new" "$BINARY"

id pombo >/dev/null 2>&1 || useradd --system --home-dir /var/lib/pombo --shell /usr/sbin/nologin pombo
install -d -o pombo -g pombo -m 0700 /var/lib/pombo
install -d -o pombo -g pombo -m 0755 /etc/pombo

if [ -d /etc/systemd/system ]; then
  cat >"$UNIT" <<UNIT
[Unit]
Description=pombo, email API
After=network-online.target
Wants=network-online.target

[Service]
User=pombo
ExecStart=$BINARY serve --config $CONFIG
Restart=always
RestartSec=2
# A stop lets running deliveries end (22 s) and records what came of them.
TimeoutStopSec=60
# pombo alone is asked to end: it ends its replication daemon once all is copied.
KillMode=mixed
# Bounces come in at port 25 ([inbound] listen).
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
ReadWritePaths=/var/lib/pombo

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload 2>/dev/null || true
fi

"$BINARY" version
if [ -f "$CONFIG" ]; then
  echo "pombo is installed. Restart it to use this build: systemctl restart pombo"
else
  echo "pombo is installed. Set it up, with the name that the server's address has in reverse DNS:"
  echo "  sudo -u pombo pombo init --config $CONFIG --hostname mail.example.net"
  echo "Then start it: systemctl enable --now pombo"
fi
