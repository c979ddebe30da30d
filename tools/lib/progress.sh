# Sourced by tools/test: what is running while ctest runs, from ctest's own output.
# shellcheck shell=bash

# Seconds without a line after which the running entries are named once more, where the output is no
# terminal.
progress_interval=30

# show_progress <OUTPUT: a line for each entry that ends, with what is running beside it. On a
# terminal the last line is written over every second.
show_progress() {
  local -A started=()
  local line name part="" total="" ended=0 result seconds quiet=0 wait=$progress_interval
  local ends='^ *[0-9]+/([0-9]+) Test +#[0-9]+: ([^ ]+) [.]*(.*[^ ]) +([0-9.]+) sec$'
  [[ -t 1 ]] && wait=1
  while :; do
    if IFS= read -r -t "$wait" line; then
      line=$part$line part=""
      if [[ $line =~ ^\ +Start\ +[0-9]+:\ (.+)$ ]]; then
        started[${BASH_REMATCH[1]}]=$SECONDS
      elif [[ $line =~ $ends ]]; then
        total=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]} seconds=${BASH_REMATCH[4]}
        result=${BASH_REMATCH[3]//\*/}
        result=${result,,}
        unset "started[$name]"
        ended=$((ended + 1))
        clear_line
        printf '  %*d/%d  %-34s %s, %.0f s\n' "${#total}" "$ended" "$total" "$name" \
          "$(trim "$result")" "$seconds"
        quiet=$SECONDS
        [[ -t 1 ]] && show_running
      fi
    elif (($? > 128)); then
      part+=$line
      if [[ -t 1 ]]; then
        clear_line
        show_running
      elif ((SECONDS - quiet >= progress_interval)); then
        show_running
        printf '\n'
        quiet=$SECONDS
      fi
    else
      break
    fi
  done
  clear_line
  return 0
}

# What runs now, and for how long; reads show_progress's `started`.
show_running() {
  local entry text=""
  for entry in "${!started[@]}"; do
    text+="${text:+, }$entry ($((SECONDS - started[$entry])) s)"
  done
  printf '  running: %s' "${text:-nothing}"
}

clear_line() {
  [[ -t 1 ]] && printf '\r\033[K'
  return 0
}

trim() {
  local text=$1
  text=${text#"${text%%[! ]*}"}
  printf '%s' "${text%"${text##*[! ]}"}"
}
