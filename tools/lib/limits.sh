# Sourced by tools/test --limits, after entries.sh: the tests of devices under the limits of every
# class of tests/limits/devices, on lavapipe. Needs $root.
# shellcheck shell=bash

limits_dir="$root/build/limits"

# Left out: tests/limits, which names classes itself; tests/binding, a host that does not know of
# the limits; tests/probe, which asks the device as it is.
limits_tests() {
  local file
  mkdir -p "$limits_dir/tests"
  for file in "$root"/tests/limits/devices/*.json; do
    # tests/limits sees that the runtime refuses these by name.
    grep -q '"api-version": "1\.0' "$file" && continue
    each_device_test limits_entry "$1" "$2" "$file"
  done >"$limits_dir/tests/CTestTestfile.cmake"
}

# limits_entry FOLDER SHARD SHARDS PRESET RESULTS FILE.
limits_entry() {
  case $1 in limits | binding | probe) return ;; esac
  local name=${6##*/}
  print_entry "$1" "$2" "$3" "${name%.json}" "$4" "$5" \
    "PTX2SPV_BINARY_DIR=$root/build/$4;PTX2SPV_DEVICE=lavapipe;PTX2SPV_DEBUG=limits=$6"
}
