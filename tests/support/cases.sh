# Sourced by tests/FOLDER/run: cases that are reported as GoogleTest reports its own, so that
# tools/test counts both alike. Needs $PTX2SPV_RESULTS, the XML file to write, and $root, the
# source tree.
# shellcheck shell=bash

# The last command of a pipeline runs in the script's shell, so that what it reads stays: some
# chroots have no /dev/fd for <(...).
shopt -s lastpipe

cases_xml=""
cases_failed=0

cases_escape() {
  local text=$1
  text=${text//&/&amp;} text=${text//</&lt;} text=${text//>/&gt;} text=${text//\"/&quot;}
  printf '%s' "${text//$'\n'/&#x0A;}"
}

case_passed() {
  printf 'passed: %s\n' "$1"
  cases_xml+="<testcase name=\"$(cases_escape "$1")\" result=\"completed\" />"$'\n'
}

case_skipped() {
  printf 'skipped: %s: %s\n' "$1" "$2"
  cases_xml+="<testcase name=\"$(cases_escape "$1")\" result=\"skipped\">"$'\n'
  cases_xml+="  <skipped message=\"$(cases_escape "$2")\" />"$'\n'"</testcase>"$'\n'
}

case_failed() {
  printf 'FAILED: %s: %s\n' "$1" "$2"
  cases_failed=$((cases_failed + 1))
  cases_xml+="<testcase name=\"$(cases_escape "$1")\" result=\"completed\">"$'\n'
  cases_xml+="  <failure message=\"$(cases_escape "$2")\" />"$'\n'"</testcase>"$'\n'
}

# case_run NAME COMMAND...: passes when the command succeeds; its output is shown when it does not.
case_run() {
  local name=$1 log status=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    case_passed "$name"
  else
    tail -n 40 "$log"
    case_failed "$name" "status $status: $(tail -n 3 "$log")"
  fi
  rm -f "$log"
  return $status
}

# The manifest of the SwiftShader that the tests use, for Vulkan's loader. False: none is there.
swiftshader_manifest() {
  local place
  for place in "${PTX2SPV_SWIFTSHADER:-}" "$root/build/swiftshader" /usr/lib/chromium; do
    [[ -f $place ]] && place=$(dirname "$place")
    [[ -f $place/libvk_swiftshader.so && -f $place/vk_swiftshader_icd.json ]] || continue
    printf '%s\n' "$place/vk_swiftshader_icd.json"
    return
  done
  return 1
}

# Writes the report and ends the script.
cases_end() {
  if [[ -n ${PTX2SPV_RESULTS:-} ]]; then
    mkdir -p "$(dirname "$PTX2SPV_RESULTS")"
    printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n%s</testsuites>\n' \
      "$cases_xml" >"$PTX2SPV_RESULTS"
  fi
  exit $((cases_failed > 0))
}
