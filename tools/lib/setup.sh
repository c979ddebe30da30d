# Sourced by scripts of tools/ and dev/: packages, SwiftShader, build. Needs $root, the source tree.
# shellcheck shell=bash

unset LC_ALL LC_CTYPE LC_MESSAGES
# The last command of a pipeline runs in the script's shell, so that what it reads stays: some
# chroots have no /dev/fd for <(...).
shopt -s lastpipe
export LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive
# One cache entry serves every clone, and in one the build folders of the same depth.
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR="$root"

logs="$root/build/logs"

packages=(
  g++ cmake ninja-build ccache
  glslang-tools spirv-tools spirv-headers libvulkan-dev
  libfmt-dev nlohmann-json3-dev libpng-dev zlib1g-dev liblz4-dev libzstd-dev libgtest-dev
  mesa-vulkan-drivers vulkan-validationlayers spirv-cross
  libegl-mesa0 libegl1 libgl1-mesa-dri libgl-dev libglfw3-dev libglut-dev xvfb
  python3 python3-numpy python3-pytest python3-jsonschema mypy
)

die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# stage TITLE COMMAND...: one line per stage, its output in a log that is shown only on failure.
stage() {
  local title=$1 log start seconds status=0
  shift
  mkdir -p "$logs"
  log=${title,,}
  log="$logs/${log//[^a-z0-9]/-}.log"
  start=$SECONDS
  printf '%-44s' "$title"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  seconds=$((SECONDS - start))
  if ((status != 0)); then
    printf 'failed after %d s\n' "$seconds"
    tail -n 60 "$log" >&2
    die "$title failed, its whole output is in ${log#"$root"/}"
  fi
  printf '%d s\n' "$seconds"
}

# Runs a command as root: directly, or through sudo where there is one.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    printf 'needs root: run as root, or install sudo, or have an administrator run\n  %s\n' "$*" >&2
    return 1
  fi
}

apt_options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o APT::Sandbox::User=root -q)

missing_packages() {
  local name
  for name in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || echo "$name"
  done
}

install_packages() {
  as_root apt-get "${apt_options[@]}" update &&
    as_root apt-get "${apt_options[@]}" install -y --no-install-recommends "$@"
}

# debian_mirror: the one that apt on this machine takes packages from.
debian_mirror() {
  # shellcheck disable=SC2016  # apt's own variables
  set -- apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(LABEL) $(REPO_URI)'
  [[ $("$@") == *"Packages Debian Debian"* ]] ||
    as_root apt-get "${apt_options[@]}" update >&2 || return 1
  "$@" | awk '$1 == "Packages" && $2 == "Debian" && $3 == "Debian" { print $4; found = 1; exit }
              END { exit !found }' ||
    { printf 'apt here has no mirror of Debian\n' >&2 && return 1; }
}

setup_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    printf 'not a Debian system; these packages must be there under their local names:\n  %s\n' \
      "${packages[*]}"
    return 0
  fi
  missing_packages | mapfile -t missing
  ((${#missing[@]} == 0)) && return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "missing packages: run as root: apt-get install ${missing[*]}"
    sudo -v || die "missing packages, and sudo is refused: apt-get install ${missing[*]}"
  fi
  stage "installing ${#missing[@]} packages" install_packages "${missing[@]}"
}

# SwiftShader is one library inside the package chromium-common, which is unpacked, not installed.
# Ubuntu has no such package: tools/fetch_swiftshader looks for a program with the library, or says
# what to do.
swiftshader_dir="$root/build/swiftshader"

fetch_swiftshader() {
  if command -v apt-cache >/dev/null && ! apt-cache show chromium-common >/dev/null 2>&1; then
    as_root apt-get "${apt_options[@]}" update || return 1
  fi
  "$root/tools/fetch_swiftshader" "$swiftshader_dir"
}

setup_swiftshader() {
  local file
  for file in "${PTX2SPV_SWIFTSHADER:-}" "${PTX2SPV_SWIFTSHADER:-}/libvk_swiftshader.so" \
    "$swiftshader_dir/libvk_swiftshader.so" /usr/lib/chromium/libvk_swiftshader.so; do
    [[ -f $file && -s $file ]] && return 0
  done
  stage "fetching SwiftShader" fetch_swiftshader
}

# What tests/browser opens pages in, where the system has it as a package (Ubuntu does not). Without
# it those tests are skipped.
setup_browser() {
  local name
  for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && return 0
  done
  if ! apt-cache show chromium >/dev/null 2>&1; then
    printf 'there is no package chromium: pages are not opened in a browser\n'
  elif ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    printf 'chromium is not installed: pages are not opened in a browser\n'
  else
    (stage "installing a browser" install_packages chromium) ||
      printf 'pages are not opened in a browser\n'
  fi
}

# setup_build PRESET TARGET...: configures where needed and builds.
setup_build() {
  local preset=$1 target targets=()
  shift
  for target in "$@"; do targets+=(--target "$target"); done
  cd "$root" || exit 2
  if [[ ! -f build/$preset/build.ninja ]]; then
    # A tree that was moved or half configured is configured afresh.
    rm -f "build/$preset/CMakeCache.txt"
    stage "configuring" cmake --preset "$preset"
  fi
  stage "building" cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}"
}
