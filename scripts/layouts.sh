#!/usr/bin/env bash
# Prints the layout table of one CPython from its own headers: scripts/layouts.sh PYTHON > crates/pyheap/src/offsets/v3_N.rs
# Needs a C compiler and the interpreter's development headers.
set -euo pipefail
python=${1:?usage: scripts/layouts.sh PYTHON}
here=$(cd "$(dirname "$0")" && pwd)
include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
minor=${version#3.}; minor=${minor%%.*}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
origin=cr_origin; top=
[ "$minor" -lt 11 ] || { origin=cr_origin_or_finalizer; top=', Top'; }
cc -w -DCR_ORIGIN=$origin -I"$include" -I"$include/internal" -o "$work/layout" "$here/layouts/layout.c"
cat <<RUST
//! CPython 3.$minor on 64 bits, from the headers of $version by \`scripts/layouts.sh\`.

use super::layout::{Attributes, Digits, Frames, Keys, Layout, Lines, Locals$top};

/// The layout of 3.$minor.
pub const LAYOUT: Layout = Layout {
$("$work/layout")
};
RUST
