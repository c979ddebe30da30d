# Sourced by tools/test --drivers newer, after setup.sh: CPU drivers newer than the system's,
# unpacked below build/newer, and the tests that run on them. Nothing is installed. Needs $root and
# $logs.
# shellcheck shell=bash

newer_dir="$root/build/newer"
newer_machine=$(gcc -print-multiarch)

# Every driver: its folder, the suites that it comes out of (the last one first in rank), packages.
newer_drivers=(
  "mesa25-llvm15 bookworm,bookworm-backports mesa-vulkan-drivers libstdc++6"
  "mesa25-llvm19 trixie mesa-vulkan-drivers libstdc++6"
  "swiftshader trixie chromium-common"
)

# newer_apt FOLDER SUITES: a configuration of apt's own that knows of nothing installed, so that a
# package comes with all that it needs, the C library too.
newer_apt() {
  local folder=$1 suites=$2 mirror key=/usr/share/keyrings/debian-archive-keyring.gpg suite
  mirror=$(debian_mirror) || return 1
  if [[ ! -f $key ]]; then
    printf 'newer drivers come out of Debian, and apt here has no keys of it\n' >&2
    return 1
  fi
  mkdir -p "$folder"/{parts,preferences,state/lists/partial,cache/archives/partial}
  : >"$folder/status"
  for suite in ${suites//,/ }; do
    printf 'deb [signed-by=%s] %s %s main\n' "$key" "$mirror" "$suite"
  done >"$folder/sources.list"
  cat >"$folder/apt.conf" <<CONF
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "$folder/parts";
Dir::Etc::preferencesparts "$folder/preferences";
Dir::State "$folder/state";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
Debug::NoLocking "true";
CONF
  APT_CONFIG="$folder/apt.conf" apt-get -q -o Acquire::Retries=3 update
}

# newer_unpack NAME SUITES PACKAGE...: below $newer_dir/NAME/sysroot. SwiftShader needs none of the
# browser's libraries, but the C library that it was built with.
newer_unpack() {
  local name=$1 suites=$2 folder="$newer_dir/$1"
  shift 2
  [[ -f $folder/complete ]] && return 0
  rm -rf "$folder"
  newer_apt "$folder/apt" "$suites" || return 1
  mkdir -p "$folder/debs" "$folder/sysroot"
  export APT_CONFIG="$folder/apt/apt.conf"
  if [[ $name == swiftshader ]]; then
    apt-cache policy "$@" | sed -n 's/^ *Candidate: //p' >"$folder/packages"
    "$root/tools/fetch_swiftshader" "$folder/sysroot" || { unset APT_CONFIG && return 1; }
    set -- libc6 libstdc++6
  fi
  apt-get -q -y -o Acquire::Retries=3 -o Dir::Cache::archives="$folder/debs" \
    -t "${suites##*,}" --no-install-recommends --download-only install "$@" &&
    newer_packages "$folder" || { unset APT_CONFIG && return 1; }
  unset APT_CONFIG
  newer_wrapper "$name" || return 1
  rm -rf "$folder/debs" "$folder/apt" "$folder/sysroot/usr/share" "$folder/sysroot/usr/bin"
  touch "$folder/complete"
}

# newer_packages FOLDER: unpacks what was fetched. A program of this system cannot run with an older
# C library than its own.
newer_packages() {
  local folder=$1 deb
  for deb in "$folder"/debs/*.deb; do
    case ${deb##*/} in
      libc6_* | libstdc++6_* | libgcc-s1_*) newer_c_library "$folder" || continue ;;
    esac
    dpkg-deb -x "$deb" "$folder/sysroot" || return 1
  done
  (cd "$folder/debs" && printf '%s\n' *.deb) >>"$folder/packages"
}

# newer_c_library FOLDER: whether the C library among its packages is newer than the system's.
newer_c_library() {
  local here there
  here=$(getconf GNU_LIBC_VERSION) here=${here#* }
  there=$(find "$1/debs" -name 'libc6_*' | sed 's/.*libc6_\([0-9.]*\).*/\1/')
  [[ -n $there && $there != "$here" ]] && printf '%s\n' "$here" "$there" | sort -V -C
}

# newer_wrapper NAME: writes $newer_dir/NAME/run, which runs a program with that driver alone. A
# driver for a newer C library than the system's runs the program under its own.
newer_wrapper() {
  local folder="$newer_dir/$1" libraries="$newer_dir/$1/sysroot/usr/lib/$newer_machine" file
  {
    # shellcheck disable=SC2016  # the wrapper's own variable
    printf '#!/bin/sh\nexport PTX2SPV_CACHE=${PTX2SPV_CACHE-0} MESA_SHADER_CACHE_DISABLE=true\n'
    if [[ $1 == swiftshader ]]; then
      file="$folder/sysroot/libvk_swiftshader.so"
      [[ -s $file ]] || return 1
      printf 'export PTX2SPV_DEVICE=swiftshader PTX2SPV_SWIFTSHADER=%q\n' "$file"
    else
      [[ -s $libraries/libvulkan_lvp.so ]] || return 1
      printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", %s: "%s"}}\n' \
        '"library_path"' "$libraries/libvulkan_lvp.so" >"$folder/icd.json"
      printf 'export PTX2SPV_DEVICE=lavapipe VK_DRIVER_FILES=%q\n' "$folder/icd.json"
    fi
    if newer_c_library "$folder"; then
      file=$(find "$folder/sysroot" -name 'ld-linux*.so.*' | head -n 1)
      printf 'exec %q --library-path %q:/usr/lib/%s "$@"\n' "$file" "$libraries" "$newer_machine"
    else
      printf 'export LD_LIBRARY_PATH=%q\nexec "$@"\n' "$libraries"
    fi
  } >"$folder/run" && chmod +x "$folder/run"
}

# newer_spirv_cross: SPIRV-Cross of Debian 13 below $newer_dir/spirv-cross, for tests/metal.
newer_spirv_cross() {
  local folder="$newer_dir/spirv-cross" deb loader
  rm -rf "$folder"
  newer_apt "$folder/apt" trixie || return 1
  mkdir -p "$folder"/{debs,sysroot}
  APT_CONFIG="$folder/apt/apt.conf" apt-get -q -y -o Acquire::Retries=3 \
    -o Dir::Cache::archives="$folder/debs" --no-install-recommends --download-only \
    install spirv-cross || return 1
  for deb in "$folder"/debs/*.deb; do
    dpkg-deb -x "$deb" "$folder/sysroot" || return 1
  done
  loader=$(find "$folder/sysroot" -name 'ld-linux*.so.*' | head -n 1)
  # shellcheck disable=SC2016  # the wrapper's own variable
  printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' "$loader" \
    "$folder/sysroot/usr/lib/$newer_machine" "$folder/sysroot/usr/bin/spirv-cross" >"$folder/run"
  chmod +x "$folder/run"
  rm -rf "$folder/debs" "$folder/apt" "$folder/sysroot/usr/share"
  touch "$folder/complete"
}

setup_newer_drivers() {
  local row
  [[ -f $newer_dir/spirv-cross/complete ]] || stage "fetching spirv-cross" newer_spirv_cross
  for row in "${newer_drivers[@]}"; do
    # shellcheck disable=SC2086  # a row is words
    set -- $row
    [[ -f $newer_dir/$1/complete ]] || stage "fetching $1" newer_unpack "$@"
  done
}

# newer_tests PRESET RESULTS: writes $newer_dir/tests/CTestTestfile.cmake, the tests that have a
# file DEVICES once for every driver. What they start themselves runs with the driver too.
newer_tests() {
  local build="$root/build/$1" results=$2 row name tool
  mkdir -p "$newer_dir/tests"
  for row in "${newer_drivers[@]}"; do
    name=${row%% *}
    mkdir -p "$newer_dir/$name/$1/"{tools,dev}
    for tool in "$build"/{tools,dev}/*; do
      [[ -f $tool && -x $tool ]] || continue
      printf '#!/bin/sh\nexport PTX2SPV_DEBUG="${PTX2SPV_DEBUG:+$PTX2SPV_DEBUG,}probe-program="%q\nexec %q %q "$@"\n' \
        "$newer_dir/$name/$1/tools/ptx2spv-probe" "$newer_dir/$name/run" "$tool" \
        >"$newer_dir/$name/$1/${tool#"$build/"}"
      chmod +x "$newer_dir/$name/$1/${tool#"$build/"}"
    done
    each_device_test newer_entry "$1" "$results" "$name"
  done >"$newer_dir/tests/CTestTestfile.cmake"
}

# newer_entry FOLDER SHARD SHARDS PRESET RESULTS DRIVER. The validation layer is left out: it looks
# at what the runtime does, and the tests on the system's drivers have it. A test that starts itself
# again cannot where the C library's loader is the program.
newer_entry() {
  local preset=$4 results=$5 driver=$6
  if [[ $1 == limits ]]; then
    echo "limits is not run on $driver: programs find its layer in their build tree" >&2
    return 0
  fi
  print_entry "$1" "$2" "$3" "$driver" "$preset" "$results" \
    "PTX2SPV_BINARY_DIR=$newer_dir/$driver/$preset;\
PTX2SPV_DEBUG=probe-program=$newer_dir/$driver/$preset/tools/ptx2spv-probe;\
PTX2SPV_VALIDATION=0;GTEST_FILTER=-Drivers.*" "$newer_dir/$driver/run"
}
