#!/usr/bin/env bash
# Everything that must pass before a change is taken. `make test` and CI run this.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

step() { printf '\n== %s\n' "$*"; }

need() { # command, what to do
    command -v "$1" >/dev/null || { printf 'test: %s is missing; %s\n' "$1" "$2" >&2; exit 3; }
}

need cargo 'install a Rust toolchain (1.95 or newer)'
need cc 'install a C linker: apt-get install build-essential'
need "$python" 'install it: apt-get install python3 python3-venv, or say which to take: make test PYTHON=python3.12'
need cargo-fmt 'add it: rustup component add rustfmt'
need cargo-clippy 'add it: rustup component add clippy'

step 'format'
cargo fmt --all --check

step 'lints'
cargo clippy --workspace --all-targets --locked -- -D warnings

step 'documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked --quiet

step 'Python environment'
venv=$("$python" scripts/venv.py)
echo "$venv"

# Heaps are looked into with both: the machine's own, and the one with torch.
export LOWTIDE_TEST_PYTHONS=${LOWTIDE_TEST_PYTHONS:-$(command -v "$python"):$venv}

step 'Rust tests'
if command -v cargo-nextest >/dev/null; then
    cargo nextest run --workspace --locked
    cargo test --workspace --locked --doc
else
    cargo test --workspace --locked
fi

step 'seeds of the fuzzers'
cargo test --manifest-path fuzz/Cargo.toml --locked --target-dir target/fuzz

step 'Python tests'
PYTHONDONTWRITEBYTECODE=1 "$venv" -m pytest -q -p no:cacheprovider zoo/tests benches/tests
PYTHONDONTWRITEBYTECODE=1 "$venv" -m pytest -q -p no:cacheprovider crates/lowtide/agent/tests
PYTHONDONTWRITEBYTECODE=1 "$venv" -m pytest -q -p no:cacheprovider python/lowtide/tests

cargo build --release --locked

step 'pages in a browser'
PYTHONDONTWRITEBYTECODE=1 "$venv" -m pytest -q -rs -p no:cacheprovider crates/report/tests/browser

step 'what pages carry of others'
if command -v npm >/dev/null; then
    scripts/vendor.sh --check || { [ $? -ne 1 ] && echo 'skipped: npm reaches no registry'; }
else
    echo 'skipped: no npm here'
fi

step 'six training programs, live'
"$python" zoo/run.py --six --pythons "$venv"
