#!/bin/sh
# Builds the far side of the pipe for AArch64 Linux, with clang, lld and libc6-dev-arm64-cross:
#   ./build.sh OUTPUT
# then --device "exec:qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max,sme512=on OUTPUT", or "exec:ssh board OUTPUT".
set -eu
lib=/usr/aarch64-linux-gnu/lib
"$(command -v clang-22 || echo clang)" --target=aarch64-linux-gnu -O1 -Wall -Wextra -Werror \
  -isystem /usr/aarch64-linux-gnu/include -c "$(dirname "$0")/server.c" -o "$1.o"
"$(command -v ld.lld-22 || echo ld.lld)" -dynamic-linker /lib/ld-linux-aarch64.so.1 $lib/crt1.o $lib/crti.o "$1.o" \
  -L $lib -lc $lib/crtn.o -o "$1"
