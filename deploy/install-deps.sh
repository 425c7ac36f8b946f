#!/usr/bin/env bash
# Installs what Heed needs on Debian 12 and nothing twice.
#
#   deploy/install-deps.sh            what the build needs
#   deploy/install-deps.sh --runtime  only what the built programs need (the Docker image)
#   deploy/install-deps.sh --tests    what the build and the tests need
#
# Debian packages come by apt; LibTorch and the protos of google.rpc come as pinned wheels
# (deploy/pins.txt) and go to third_party/ (or $HEED_THIRD_PARTY_DIR), of which only the parts in use
# are kept.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

RUNTIME_PACKAGES=(ca-certificates fonts-dejavu-core libgrpc++1.51 libpangocairo-1.0-0 libprotobuf32
<<<<<<< HEAD
  libprometheus-cpp-core1.0 libprometheus-cpp-pull1.0 libspdlog1.10 libxxhash0 libzip4)
BUILD_PACKAGES=(build-essential ca-certificates ccache cmake fonts-dejavu-core git libabsl-dev
  libcli11-dev libgmock-dev libgrpc++-dev libgtest-dev libpango1.0-dev libprotobuf-dev libspdlog-dev
  libxxhash-dev libzip-dev ninja-build nlohmann-json3-dev pkg-config prometheus-cpp-dev
  protobuf-compiler protobuf-compiler-grpc python3 python3-pip unzip)
=======
  libprometheus-cpp-core1.0 libprometheus-cpp-pull1.0 libspdlog1.10 libxxhash0)
BUILD_PACKAGES=(build-essential ca-certificates ccache cmake fonts-dejavu-core git libabsl-dev
  libcli11-dev libgmock-dev libgrpc++-dev libgtest-dev libpango1.0-dev libprotobuf-dev libspdlog-dev
  libxxhash-dev ninja-build nlohmann-json3-dev pkg-config prometheus-cpp-dev protobuf-compiler
  protobuf-compiler-grpc python3 python3-pip unzip)
>>>>>>> client-render
TEST_PACKAGES=(chromium curl)
GRPCURL_VERSION=v1.8.9

[ "$(uname -m)" = x86_64 ] || die "the pinned LibTorch is for x86_64, this machine is $(uname -m)"
command -v apt-get >/dev/null || die "needs a Debian 12 system (no apt-get here)"

# The tokenizers crate wants a newer compiler than Debian 12's own `cargo`; `cargo-web` is one.
install_rust() {
  local version
  version="$(cargo --version 2>/dev/null | cut -d' ' -f2 | cut -d. -f1-2)" || version=""
  if [ -n "$version" ] && printf '1.85\n%s\n' "$version" | sort -V -C; then return 0; fi
  apt_install cargo-web rustc-web
}

install_libtorch() {
  local folder="$THIRD_PARTY/libtorch" pins=(torch nvidia-cuda-runtime nvidia-cuda-cupti)
  up_to_date "$folder" "${pins[@]}" && return 0
  local name
  new_work "$THIRD_PARTY/.libtorch"
  for name in "${pins[@]}"; do fetch_pin "$name" "$work"; done
  say "unpacking LibTorch into $folder"
  unzip -q "$work"/torch-*.whl 'torch/include/*' torch/lib/libc10.so torch/lib/libtorch_cpu.so \
    torch/lib/libgomp.so.1 'torch-*.dist-info/licenses/*' -x 'torch/include/google/*' -d "$work"
  unzip -q -j "$work"/nvidia_cuda_runtime-*.whl 'nvidia/cu13/lib/libcudart.so.13' -d "$work/torch/lib"
  unzip -q -j "$work"/nvidia_cuda_cupti-*.whl 'nvidia/cu13/lib/libcupti.so.13' -d "$work/torch/lib"
  mv "$work"/torch-*.dist-info/licenses "$work/torch/licenses"
  rm -rf "$folder"
  mv "$work/torch" "$folder"
  stamp "$folder" "${pins[@]}"
}

install_googleapis() {
  local folder="$THIRD_PARTY/googleapis"
  up_to_date "$folder" googleapis-common-protos && return 0
  new_work "$THIRD_PARTY/.googleapis"
  fetch_pin googleapis-common-protos "$work"
  rm -rf "$folder"
  unzip -q "$work"/googleapis_common_protos-*.whl 'google/rpc/*.proto' -d "$folder"
  stamp "$folder" googleapis-common-protos
}

# Playwright drives Debian's Chromium in the test of the HTML page; it goes into a folder of its own,
# away from the system's Python.
install_playwright() {
  local folder="$THIRD_PARTY/playwright" pins=(playwright greenlet) name
  up_to_date "$folder" "${pins[@]}" && return 0
  new_work "$THIRD_PARTY/.playwright"
  for name in "${pins[@]}"; do fetch_pin "$name" "$work/wheels"; done
  say "unpacking Playwright into $folder"
  for name in "$work"/wheels/*.whl; do unzip -q -o "$name" -d "$work/python"; done
  # unzip keeps the executable bit only where the wheel has it.
  chmod +x "$work/python/playwright/driver/node"
  rm -rf "$folder"
  mv "$work/python" "$folder"
  stamp "$folder" "${pins[@]}"
}

# buf lints the protos; grpcurl is an independent gRPC client for the end-to-end tests.
install_test_tools() {
  local folder="$THIRD_PARTY/tools"
  mkdir -p "$folder"
  if ! up_to_date "$folder" buf-bin; then
      new_work "$THIRD_PARTY/.buf"
    fetch_pin buf-bin "$work"
    unzip -q -o -j "$work"/buf_bin-*.whl '*/scripts/buf' -d "$folder"
    chmod +x "$folder/buf"
    stamp "$folder" buf-bin
  fi
  if [ "$(cat "$folder/.grpcurl" 2>/dev/null)" != "$GRPCURL_VERSION" ]; then
    command -v go >/dev/null 2>&1 || apt_install golang-go
    say "building grpcurl $GRPCURL_VERSION"
    GOBIN="$folder" GOFLAGS=-mod=mod GOTOOLCHAIN=local \
      go install "github.com/fullstorydev/grpcurl/cmd/grpcurl@$GRPCURL_VERSION" ||
      die "could not build grpcurl: check the network or the Go module proxy settings (go env GOPROXY)"
    printf '%s\n' "$GRPCURL_VERSION" >"$folder/.grpcurl"
  fi
}

mode="${1:---build}"
case "$mode" in
  --runtime) apt_install "${RUNTIME_PACKAGES[@]}" ;;
  --build | --tests)
    apt_install "${BUILD_PACKAGES[@]}"
    mkdir -p "$THIRD_PARTY"
    install_rust
    install_libtorch
    install_googleapis
    if [ "$mode" = --tests ]; then
      apt_install "${TEST_PACKAGES[@]}"
      install_test_tools
      install_playwright
    fi
    ;;
  *) die "usage: deploy/install-deps.sh [--build|--runtime|--tests]" ;;
esac
