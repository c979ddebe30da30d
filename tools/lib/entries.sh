# Sourced by tools/test: entries of ctest for tests of devices, beside those that CMake writes.
# Needs $root.
# shellcheck shell=bash

# each_device_test COMMAND ARGUMENT...: runs COMMAND FOLDER SHARD SHARDS ARGUMENT... for every shard
# of every test that has a file DEVICES. tests/null_hardware has a driver of its own.
each_device_test() {
  local command=$1 list folder shards shard
  shift
  for list in "$root"/tests/*/DEVICES; do
    folder=${list%/DEVICES} folder=${folder##*/}
    [[ $folder == null_hardware ]] && continue
    shards=$(sed -n '1s/^shards \([0-9]*\)$/\1/p' "$list")
    for ((shard = 0; shard < ${shards:-1}; ++shard)); do
      "$command" "$folder" "$shard" "${shards:-1}" "$@"
    done
  done
}

# print_entry FOLDER SHARD SHARDS KIND PRESET RESULTS ENVIRONMENT [WRAPPER]
print_entry() {
  local label="$1.$4" program="$root/build/$5/tests/test_$1" wrapper=${8:-}
  (($3 > 1)) && label+=".$2"
  printf 'add_test(%s %s"%s" "--gtest_brief=1" "--gtest_output=xml:%s")\n' "$label" \
    "${wrapper:+\"$wrapper\" }" "$program" "$6/$label.xml"
  printf 'set_tests_properties(%s PROPERTIES WORKING_DIRECTORY "%s" TIMEOUT 1800 %s "%s")\n' \
    "$label" "$root" ENVIRONMENT \
    "PTX2SPV_SOURCE_DIR=$root;$7;GTEST_TOTAL_SHARDS=$3;GTEST_SHARD_INDEX=$2"
}
