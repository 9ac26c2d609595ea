#!/bin/sh
# Lines of this example that are neither blank nor comment: records, C++, C, CMake and the command that runs programs.
# Fails if there are more than LIMIT (500); tests are not counted.
#   ./count-lines.sh [LIMIT]
set -eu
cd "$(dirname "$0")"
find . \( -name build -o -name test \) -prune -o -type f ! -name '*.md' ! -name "$(basename "$0")" -print | sort |
  xargs awk -v limit="${1:-500}" '
    FNR == 1 { inside = 0 }
    { line = $0; sub(/^[ \t]+/, "", line) }
    inside { if (line ~ /\*\//) inside = 0; next }
    line ~ /^\/\*/ { if (line !~ /\*\//) inside = 1; next }
    line == "" || line ~ /^\/\// { next }
    line ~ /^#/ && FILENAME !~ /\.(c|cpp|h|td)$/ { next }
    { lines[FILENAME] += int((length($0) + 119) / 120); total += int((length($0) + 119) / 120) }
    END {
      for (name in lines) printf "%6d  %s\n", lines[name], name
      printf "%6d  all\n", total
      exit total > limit
    }'
