#!/usr/bin/env bash
# Run by script/install-check: signatures of releases as script/release-key makes them and install.sh verifies them,
# beside the real minisign, in folder $1.
set -uo pipefail
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 1
failed=0
is() { local what=$1; shift; if "$@" >"$folder/said" 2>&1; then echo "  ok    $what"; else echo "  FAIL  $what"; sed 's/^/        /' "$folder/said"; failed=1; fi; }
isnt() { local what=$1; shift; if "$@" >"$folder/said" 2>&1; then echo "  FAIL  $what"; failed=1; else echo "  ok    $what"; fi; }

# The functions of install.sh, with a network that is a folder. $1: where programs are; what follows is the public key.
{
  echo 'set -eu; source=https://releases.test/pombo-linux-x64; web=$1/web work=$1/work public_key=$2; BINARY=${3:-/nothing}'
  echo 'say() { printf "%s\n" "$@"; }; fail() { printf "%s\n" "$*" >&2; exit 1; }; has() { command -v "$1" >/dev/null 2>&1; }'
  echo 'fetch() { cp "$web/${1##*/}" "$2"; }'
  sed -n '/^verify() {/,/^}/p; /^verify_by_openssl() (/,/^)/p' install.sh
  echo 'rm -rf "$work"; mkdir "$work"; cp "$web/pombo-linux-x64" "$work/pombo"; verify >"$work/../verified"; ! grep "NOT VERIFIED" "$work/../verified"'
} >"$folder/verify.sh"
mkdir -p "$folder/plain"
for program in sh cp rm mkdir grep sed tr od dd tail head cat wc printf base64 openssl ln sort cut; do
  ln -sf "$(command -v $program)" "$folder/plain/$program"
done
mkdir -p "$folder/nothing" && cp -P "$folder"/plain/* "$folder/nothing" && rm "$folder/nothing/openssl"
by_openssl() { PATH=$folder/plain sh "$folder/verify.sh" "$folder" "$@"; }
by_minisign() { sh "$folder/verify.sh" "$folder" "$@"; }
by_nothing() { PATH=$folder/nothing sh "$folder/verify.sh" "$folder" "$@"; }

mkdir -p "$folder/web"
file=$folder/web/pombo-linux-x64
head -c 3000000 /dev/urandom >"$file"
public=$(bash script/release-key make "$folder/key") || exit 1
bash script/release-key sign "$folder/key" "$file" >/dev/null || exit 1
is "minisign knows what release-key signed" minisign -Vm "$file" -P "$public"
is "install.sh knows it by minisign" by_minisign "$public"
is "and by openssl" by_openssl "$public"
isnt "without either it says that it does not" by_nothing "$public"
is "in words" grep -q "NOT VERIFIED: neither" "$folder/verified"
isnt "without a key as well" by_openssl ""
is "in words, too" grep -q "NOT VERIFIED: the public key" "$folder/verified"

for how in H l; do
  minisign -S"$how"m "$file" -s "$folder/key" -t "$(printf 'version:0.1.0\tfile:pombo-linux-x64')" >/dev/null
  is "minisign signs with release-key's key (-$how)" minisign -Vm "$file" -P "$public"
  is "install.sh knows that by openssl (-$how)" by_openssl "$public"
  is "and by minisign (-$how)" by_minisign "$public"
done

minisign -GWf -p "$folder/other.pub" -s "$folder/other" >/dev/null
other=$(sed -n 2p "$folder/other.pub")
cp "$file.minisig" "$folder/good.minisig"
for way in by_openssl by_minisign; do
  isnt "another key ($way)" $way "$other"
  sed 's/version:0.1.0/version:9.1.0/' "$folder/good.minisig" >"$file.minisig"
  isnt "a changed comment ($way)" $way "$public"
  sed '3s/pombo-linux-x64/pombo-linux-arm64/' "$folder/good.minisig" >"$file.minisig"
  isnt "another file's name ($way)" $way "$public"
  printf 'untrusted comment: x\n' >"$file.minisig"
  isnt "no signature ($way)" $way "$public"
  rm "$file.minisig"
  isnt "none at all ($way)" $way "$public"
  cp "$folder/good.minisig" "$file.minisig"
  printf x >>"$file"
  isnt "a changed executable ($way)" $way "$public"
  truncate -s -1 "$file"
  is "and it is known again ($way)" $way "$public"
done

printf '#!/bin/sh\necho '"'"'{"version":"%s","releaseKey":"%s"}'"'"'\n' 0.2.0 "$public" >"$folder/installed"
chmod 755 "$folder/installed"
isnt "an older release than what is installed" by_openssl "" "$folder/installed"
# What is read of the line is what the signature covers.
for way in by_openssl by_minisign; do
  for at in 's/version:/version:\r/' 's/version:/\rversion:/' 's/0\.1\.0/0.1.0\r/' 's/0\.1\.0/\x00&/' \
    's/$/\r\tfile:pombo-linux-x64\tversion:9.9.9/'; do
    sed "3$at" "$folder/good.minisig" >"$file.minisig"
    isnt "an older release with a character put into its comment ($at, $way)" $way "" "$folder/installed"
  done
done
for pair in "isnt 0.2.0 0.2.0-rc1" "is 0.2.0-rc1 0.2.0" "is 0.2.0-rc1 0.2.0-rc2" "isnt 0.10.0 0.9.0"; do
  set -- $pair
  printf '#!/bin/sh\necho '"'"'{"version":"%s","releaseKey":"%s"}'"'"'\n' "$2" "$public" >"$folder/installed"
  minisign -Sm "$file" -s "$folder/key" -t "$(printf 'version:%s\tfile:pombo-linux-x64' "$3")" >/dev/null
  "$1" "in the place of $2 comes $3" by_openssl "" "$folder/installed"
done
cp "$folder/good.minisig" "$file.minisig"

printf '#!/bin/sh\necho '"'"'{"version":"%s","releaseKey":"%s"}'"'"'\n' 0.0.9 "$public" >"$folder/installed"
is "a newer one, by the key that the installed pombo knows" by_openssl "" "$folder/installed"
exit $failed
