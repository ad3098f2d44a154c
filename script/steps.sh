# For .ci/run and script/soak: runs steps one after the other, a failing one included, within one
# time limit, and counts. To be sourced; the caller sets LIMIT_S first.
#   step NAME COMMAND…     runs and times the command; exit code 2 of a step named with --may-miss
#                          means that this machine cannot run it, which is told and not counted;
#                          returns the exit code
#   finish                 every failure again with the lines before it, the tests that passed only
#                          when run again, the sum in words, then "N passed, M failed"; exit code 1
#                          when M > 0
# Counted are the steps, and the tests in them where a step tells their numbers.

steps_started=$SECONDS
steps_log=$(mktemp)
steps_failures=$(mktemp)
steps_again=$(mktemp)
trap 'rm -f "$steps_log" "$steps_failures" "$steps_again"' EXIT
passed=0
failed=0
summary=()

step() {
  local may_miss=no
  if [ "$1" = --may-miss ]; then may_miss=yes; shift; fi
  local name=$1 left=$((LIMIT_S - (SECONDS - steps_started))) began=$SECONDS code=0
  shift
  printf '\n=== %s\n' "$name"
  if [ "$left" -le 0 ]; then
    code=124
  else
    # stdin closed: a step that asks something must not wait. -k: what ignores the first signal.
    timeout -k 10 "$left" "$@" </dev/null 2>&1 | tee "$steps_log"
    code=${PIPESTATUS[0]}
    count_tests
    grep '^(again) ' "$steps_log" >>"$steps_again"
  fi
  local took=$((SECONDS - began)) word
  if [ "$code" -eq 0 ]; then
    passed=$((passed + 1)); word=ok
  elif [ "$code" -eq 2 ] && [ "$may_miss" = yes ]; then
    word="not run: this machine lacks what it needs"
  elif [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    failed=$((failed + 1)); word="FAILED: out of time ($LIMIT_S s for everything)"
  else
    failed=$((failed + 1)); word="FAILED (exit code $code)"
  fi
  if [ "$code" -ne 0 ]; then keep_failures "$name"; fi
  summary+=("$(printf '%-28s %4d s  %s' "$name" "$took" "$word")")
  printf '=== %s: %s after %d s\n' "$name" "$word" "$took"
  return "$code"
}

# Bun says " 12 pass" and " 1 fail"; the interoperability run says "12 passed, 1 failed" in its last line.
count_tests() {
  local numbers
  numbers=$(awk '
    NF == 2 && $1 ~ /^[0-9]+$/ && $2 == "pass" { p += $1 }
    NF == 2 && $1 ~ /^[0-9]+$/ && $2 == "fail" { f += $1 }
    { last = $0 }
    END {
      if (p + f == 0 && match(last, /^[0-9]+ passed, [0-9]+ failed/)) { split(last, w, " "); p = w[1]; f = w[3] }
      print p + 0, f + 0
    }' "$steps_log")
  passed=$((passed + ${numbers% *}))
  failed=$((failed + ${numbers#* }))
}

# Of thousands of lines, those that say what failed: a reader of the log sees its end first.
keep_failures() {
  printf '\n--- %s\n' "$1"
  if grep -qE '^(\(fail\)|FAILED) ' "$steps_log"; then
    grep -E -B 40 '^(\(fail\)|FAILED) ' "$steps_log" | grep -vE '^(\((pass|skip|todo)\)|ok) ' | tail -n 150
  else
    tail -n 30 "$steps_log"
  fi
} >>"$steps_failures"

finish() {
  if [ -s "$steps_failures" ]; then
    printf '\n=== What failed\n'
    cat "$steps_failures"
  fi
  if [ -s "$steps_again" ]; then
    printf '\n=== What passed only when run again\n'
    cat "$steps_again"
  fi
  printf '\n=== All steps, %d s\n' "$((SECONDS - steps_started))"
  printf '%s\n' "${summary[@]}"
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}
