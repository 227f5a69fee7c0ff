# shellcheck shell=bash
# Building from a checkout, for ./gpuwright and ./test: packages, lock, progress. Sourced by bash.
# Everything said here goes to standard error.

gpuwright_say() { echo "gpuwright: $*" >&2; }

gpuwright_may_write() {
  mkdir -p "$1/build" 2>/dev/null && [[ -w $1/build ]]
}

# One build at a time in a checkout; the lock goes with the process.
gpuwright_lock() {
  exec 9>"$1/build/.lock" || return 1
  flock -n 9 && return 0
  gpuwright_say "waiting for another build in $1"
  flock 9
}

gpuwright_unlock() { exec 9>&-; }

# Names the Debian packages that the build needs and this machine lacks, asking the compiler rather
# than the package manager, so that a header from elsewhere counts. $1: 1 with the tests.
gpuwright_missing_packages() {
  local tests=$1 compiler=${CXX:-g++}
  command -v cmake >/dev/null || echo cmake
  command -v ninja >/dev/null || command -v make >/dev/null || echo ninja-build
  [[ $tests == 0 ]] || python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  if ! command -v "$compiler" >/dev/null; then
    printf '%s\n' g++ libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libexpected-dev \
      libre2-dev
    [[ $tests == 0 ]] || echo libgtest-dev
    return
  fi
  # The blank lines and "# 1 ..." of the preprocessor are left out.
  "$compiler" -std=c++20 -x c++ -E -P - 2>/dev/null <<END | grep -v '^[[:space:]]*$'
#if !__has_include(<fmt/format.h>)
libfmt-dev
#endif
#if !__has_include(<CLI/CLI.hpp>)
libcli11-dev
#endif
#if !__has_include(<nlohmann/json.hpp>)
nlohmann-json3-dev
#endif
#if !__has_include(<toml++/toml.h>)
libtomlplusplus-dev
#endif
#if !__has_include(<tl/expected.hpp>)
libexpected-dev
#endif
#if !__has_include(<re2/re2.h>)
libre2-dev
#endif
#if defined(__x86_64__) && !__has_include(<hs/hs.h>)
libhyperscan-dev
#endif
#if $tests && !__has_include(<gtest/gtest.h>)
libgtest-dev
#endif
END
}

# Installs the packages given when this may be done without asking, and otherwise says what to type.
gpuwright_install() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    gpuwright_say "the build needs what Debian calls: $*"
    return 1
  fi
  if [[ $EUID -ne 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      gpuwright_say "the build needs some packages; install them with"
      echo "    sudo apt-get install --no-install-recommends $*" >&2
      return 1
    fi
    as_root=(sudo -n)
  fi
  gpuwright_say "installing $*"
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q
    --no-install-recommends -o DPkg::Lock::Timeout=300 "$@")
  # The lists of a fresh image are empty, those of an old one name files that are gone.
  "${install[@]}" >"$gpuwright_log" 2>&1 </dev/null && return 0
  "${as_root[@]}" apt-get update -q >"$gpuwright_log" 2>&1 </dev/null
  "${install[@]}" >>"$gpuwright_log" 2>&1 </dev/null && return 0
  tail -n 5 "$gpuwright_log" >&2
  gpuwright_say "could not install them; the log is $gpuwright_log"
  return 1
}

gpuwright_prepare() {
  local missing
  missing=$(gpuwright_missing_packages "$1")
  [[ -z $missing ]] && return 0
  # shellcheck disable=SC2086 # one word a package
  gpuwright_install $missing || return 1
  # A compiler that has just come can say more.
  missing=$(gpuwright_missing_packages "$1")
  [[ -z $missing ]] && return 0
  gpuwright_say "still missing after the installation: ${missing//$'\n'/ }"
  return 1
}

# Shows [12/60] while it builds, on a terminal alone.
gpuwright_progress() {
  local line
  if [[ ! -t 2 || -n ${CI:-} ]]; then
    cat >>"$gpuwright_log"
    return
  fi
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$gpuwright_log"
    [[ $line == \[* ]] && printf '\rgpuwright: building %s]   ' "${line%%]*}" >&2
  done
  printf '\r\033[K' >&2
}

# gpuwright_build CHECKOUT PRESET STAMP: builds quietly; the stamp has the time of the start, so that
# a source edited meanwhile is newer.
gpuwright_build() {
  local here=$1 preset=$2 stamp=$3 tests=1 generator=()
  local directory=$here/build/$preset
  [[ $preset == release ]] && tests=0
  mkdir -p "$directory"
  gpuwright_log=$directory/build.log
  gpuwright_prepare "$tests" || return 1
  # A configured directory keeps its generator.
  if [[ ! -f $directory/CMakeCache.txt ]] && command -v ninja >/dev/null; then
    generator=(-G Ninja)
  fi
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  fi
  gpuwright_say "building $preset, which takes a minute or two the first time"
  touch "$stamp.new"
  if (cd "$here" && cmake --preset "$preset" "${generator[@]}") >"$gpuwright_log" 2>&1 </dev/null &&
    (
      set -o pipefail
      cmake --build "$directory" --parallel "$(nproc)" 2>&1 </dev/null | gpuwright_progress
    ); then
    mv "$stamp.new" "$stamp"
    return 0
  fi
  grep -E -A 5 'error|FAILED|CMake Error' "$gpuwright_log" | head -n 40 >&2
  gpuwright_say "the build failed; the whole log is $gpuwright_log"
  return 1
}
