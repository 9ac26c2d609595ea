#!/usr/bin/env bash
# Keeps the public headers of the plugin interface's previous version in test/plugins/previous, for the test that loads a
# plugin built against them. To be run when targetApiVersion has grown: takes the headers from the last commit that had the
# version before.
set -euo pipefail
cd "$(dirname "$0")/.."
header=core/include/tilewright/Target.h
version_in() { sed -n 's/.*constexpr uint32_t targetApiVersion = \([0-9]*\);.*/\1/p'; }

current=$(version_in <$header)
previous=$((current - 1))
# From the newest on: the commit that raised the version is the last one seen before one of the version before.
raised=
for commit in $(git log --format=%H -- $header); do
  if [ "$(git show "$commit:$header" | version_in)" = "$previous" ]; then
    break
  fi
  raised=$commit
  commit=
done
if [ -z "${commit:-}" ]; then
  echo "freeze-api: no commit of this repository's history has version $previous in $header" >&2
  exit 1
fi
commit=$([ -n "$raised" ] && git rev-parse "$raised^" || git rev-parse HEAD) # all headers as they were just before
folder=test/plugins/previous/tilewright
rm -rf $folder
mkdir -p $folder
for name in Target.h TargetDescription.h Numbers.def ChipTable.h TableTarget.h Layout.h; do
  if git cat-file -e "$commit:core/include/tilewright/$name" 2>/dev/null; then # Numbers.def: from version 7 on
    git show "$commit:core/include/tilewright/$name" >$folder/$name
  fi
done
echo "$folder: version $(version_in <$folder/Target.h), this build has $current"
