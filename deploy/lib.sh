# Shared by the set-up scripts: source it, do not run it.
# Every step is idempotent: it leaves a stamp with what it installed and does nothing when that is
# still right.

HEED_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
THIRD_PARTY="${HEED_THIRD_PARTY_DIR:-$HEED_ROOT/third_party}"
PINS="$HEED_ROOT/deploy/pins.txt"

say() { printf '==> %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# new_work PREFIX: makes a folder PREFIX.XXXXXX, removed when the script ends, and sets `work` to it.
# Beside its target, so that a finished part moves into place in one step.
work_folders=()
new_work() {
  work="$(mktemp -d "$1.XXXXXX")"
  work_folders+=("$work")
}
trap '[ ${#work_folders[@]} -eq 0 ] || rm -rf "${work_folders[@]}"' EXIT

# Runs a command as root, directly or by sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    die "needs root for: $* (run as root, or install sudo)"
  fi
}

# apt_install PACKAGE…: installs the packages that are missing.
apt_install() {
  local missing=() package
  for package in "$@"; do
    # A provided name counts: where the package is virtual, dpkg knows only its provider.
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing Debian packages: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq ||
    die "apt-get update failed: check the network and the package sources"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null || die "could not install: ${missing[*]}"
}

# pin_of NAME: the line of pins.txt for that package.
pin_of() {
  grep -i "^$1==" "$PINS" || die "no pin for $1 in deploy/pins.txt"
}

# up_to_date FOLDER NAME…: whether FOLDER was made from these pins.
up_to_date() {
  local folder="$1" name
  shift
  [ -f "$folder/.pins" ] || return 1
  [ "$(for name in "$@"; do pin_of "$name"; done)" = "$(cat "$folder/.pins")" ]
}

# stamp FOLDER NAME…: records that FOLDER was made from these pins. Call last.
stamp() {
  local folder="$1" name
  shift
  for name in "$@"; do pin_of "$name"; done >"$folder/.pins"
}

# fetch_pin NAME FOLDER: downloads that package's file into FOLDER and checks its SHA-256.
fetch_pin() {
  local name="$1" folder="$2" requirement
  mkdir -p "$folder"
  requirement="$(mktemp)"
  pin_of "$name" >"$requirement"
  say "downloading $(cut -d' ' -f1 "$requirement")"
  # The platform is named, so that any Python 3 fetches the one file whose hash is pinned.
  local platform=(--only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none
    --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64
    --platform manylinux2014_x86_64 --platform any)
  if [ "${3:-}" = sdist ]; then platform=(--no-binary=:all:); fi
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
    --require-hashes "${platform[@]}" -r "$requirement" -d "$folder" >&2; then
    rm -f "$requirement"
    die "could not download $name with the pinned hash: check the network or pip's index settings" \
      "(pip config list), then run this again; what was installed so far is kept"
  fi
  rm -f "$requirement"
}
