#!/bin/sh
# Builds the far side of the pipe for another Linux machine, with clang, lld and that machine's C library (Debian's packages
# libc6-dev-arm64-cross and libc6-dev-ppc64el-cross; SYSROOT=FOLDER for another place):
#   ./build.sh OUTPUT [ARCHITECTURE]      aarch64 (default) or powerpc64le
# then --device "exec:qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max OUTPUT", or "exec:ssh board OUTPUT". A compiler of the
# machine itself does for every architecture: cc -O1 server.c -ldl -o OUTPUT.
set -eu
architecture=${2:-aarch64}
case $architecture in
  aarch64) loader=/lib/ld-linux-aarch64.so.1 ;;
  powerpc64le) loader=/lib64/ld64.so.2 ;;
  *) echo "build.sh: unknown architecture '$architecture'; expected aarch64 or powerpc64le" >&2; exit 1 ;;
esac
sysroot=${SYSROOT:-/usr/$architecture-linux-gnu}
if [ ! -e "$sysroot/lib/crt1.o" ]; then
  echo "build.sh: '$sysroot/lib' has no crt1.o: the C library of $architecture is missing; SYSROOT says where it is" >&2
  exit 1
fi
"$(command -v clang-22 || echo clang)" --target="$architecture-linux-gnu" -O1 -Wall -Wextra -Werror \
  -isystem "$sysroot/include" -c "$(dirname "$0")/server.c" -o "$1.o"
"$(command -v ld.lld-22 || echo ld.lld)" -dynamic-linker $loader "$sysroot/lib/crt1.o" "$sysroot/lib/crti.o" "$1.o" \
  -L "$sysroot/lib" -lc "$sysroot/lib/crtn.o" -o "$1"
rm "$1.o"
