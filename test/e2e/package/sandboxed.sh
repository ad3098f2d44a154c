#!/bin/sh
# Run by script/release-check in a network of its own: starts `pombo dev` with the words that follow the name $1 and the
# folder $2 (an emulator, the executable), sends one email, and waits until it is delivered.
set -eu
name=$1 folder=$2
shift 2
ip link set lo up
mkdir -p "$folder" && : >"$folder/out"
now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f s", to - from }'; }
give_up() { echo "  FAIL  $name: $1"; tail -n 5 "$folder/out" "$folder/errors" | sed 's/^/        /'; kill -KILL "$pid" 2>/dev/null; exit 1; }

began=$(now)
"$@" dev --json >"$folder/out" 2>"$folder/errors" &
pid=$!
until grep -q '"apiKey"' "$folder/out"; do
  kill -0 "$pid" 2>/dev/null || give_up "pombo dev ended"
  [ "$(awk -v from="$began" -v to="$(now)" 'BEGIN { print (to - from > 180) }')" = 0 ] || give_up "pombo dev was not ready after 180 s"
  sleep 0.2
done
echo "  ok    $name: pombo dev is ready after $(since "$began")"
key=$(sed -n 's/.*"apiKey":"\([^"]*\)".*/\1/p' "$folder/out" | head -n 1)
api=http://127.0.0.1:8080/api/v1
began=$(now)
id=$(curl -fsS "$api/emails" -H "X-API-Key: $key" -H 'Content-Type: application/json' \
  -d '{"from":"loja@sandbox.test","to":"maria@example.com","subject":"Olá","html":"<h1>Olá!</h1>"}' | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
[ -n "$id" ] || give_up "the email was not accepted"
until curl -fsS "$api/emails/$id" -H "X-API-Key: $key" | grep -q '"status":"delivered"'; do
  [ "$(awk -v from="$began" -v to="$(now)" 'BEGIN { print (to - from > 180) }')" = 0 ] || give_up "the email was not delivered after 180 s"
  sleep 0.2
done
echo "  ok    $name: an email is delivered after $(since "$began")"
kill -TERM "$pid"
code=0; wait "$pid" || code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 143 ] || give_up "pombo dev ended with $code"
echo "  ok    $name: ends at SIGTERM"
