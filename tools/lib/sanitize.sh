# Sourced by tools/test --sanitize, after entries.sh: the tests of devices with every check of
# `all`, on both CPU drivers. A finding fails a test, but for what tests/sanitize/meant.txt has.
# Needs $root.
# shellcheck shell=bash

sanitize_dir="$root/build/sanitize"

# Left out: tests/sanitize, which plants faults and opens devices with checks of its own;
# tests/binding, a host that does not link the translator; tests/probe and tests/limits, which ask
# the device as it is. Of tests/cuda the tests of ptxexec's own checks, and one of memory that does
# not grow: the sanitizer keeps what was freed for a while.
sanitize_tests() {
  mkdir -p "$sanitize_dir/tests"
  each_device_test sanitize_entry "$1" "$2" >"$sanitize_dir/tests/CTestTestfile.cmake"
}

# sanitize_entry FOLDER SHARD SHARDS PRESET RESULTS.
sanitize_entry() {
  case $1 in sanitize | binding | limits | probe) return ;; esac
  local device label checks filter=
  [[ $1 == cuda ]] && filter=';GTEST_FILTER=-Sanitized.*:DriverInterface.CyclesDoNotGrow'
  checks="PTX2SPV_SANITIZE=all;PTX2SPV_SUPPRESSIONS=$root/tests/sanitize/meant.txt"
  for device in swiftshader lavapipe; do
    print_entry "$1" "$2" "$3" "sanitize.$device" "$4" "$5" \
      "PTX2SPV_BINARY_DIR=$root/build/$4;PTX2SPV_DEVICE=$device;$checks$filter"
    label="$1.sanitize.$device"
    (($3 > 1)) && label+=".$2"
    printf 'set_tests_properties(%s PROPERTIES FAIL_REGULAR_EXPRESSION "%s")\n' "$label" \
      'error: [a-z-]+ (load|store|atomic) of |error: [a-z-]+ at a (barrier|warp operation|wait):'
  done
}
