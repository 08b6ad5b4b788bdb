#!/usr/bin/env bash
# The wheel with the program `lowtide` inside, for Linux with glibc 2.17 or newer (manylinux2014): clusters are old.
# Usage: scripts/wheel.sh [TARGET...]     Default: x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu.
# Needs `pip install maturin ziglang` (Zig links against an old glibc, and for the other architecture), and
# `rustup target add` for each target. The wheels come into target/wheels.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
targets=("${@:-x86_64-unknown-linux-gnu}")
if [ $# -eq 0 ]; then targets+=(aarch64-unknown-linux-gnu); fi

command -v maturin >/dev/null || { echo 'wheel: maturin is missing; install it: pip install maturin ziglang' >&2; exit 3; }

# The same package, built by maturin instead of setuptools: all but the build system is taken from its pyproject.toml.
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r python/lowtide/src python/lowtide/README.md "$build"
find "$build" -name __pycache__ -prune -exec rm -r {} +
python3 - python/lowtide/pyproject.toml "$build/pyproject.toml" "$root" <<'PYTHON'
import re, sys

source, target, root = sys.argv[1:]
text = open(source).read()
text, systems = re.subn(r"requires = .*\nbuild-backend = .*", 'requires = ["maturin>=1.8,<2"]\nbuild-backend = "maturin"', text)
text, tables = re.subn(r"\[tool\.setuptools[^\[]*", "", text)
if systems != 1 or tables < 1:
    sys.exit(f"wheel: {source} no longer has the tables that scripts/wheel.sh replaces; bring both in line")
text += f"""
[tool.maturin]
bindings = "bin"
manifest-path = "{root}/crates/lowtide/Cargo.toml"
python-source = "src"
strip = true
"""
open(target, "w").write(text)
PYTHON

for target in "${targets[@]}"; do
    (cd "$build" && maturin build --release --locked --zig --compatibility manylinux2014 --target "$target" --out "$root/target/wheels")
done
