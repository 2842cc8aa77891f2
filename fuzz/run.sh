#!/bin/sh
# Fuzzes one target on the stable compiler, without cargo-fuzz:  fuzz/run.sh TARGET [libFuzzer options]
#
# TARGET is sse, http1, http2, exchange, templates or plan. Coverage feedback needs only stable compiler flags; what is left out compared
# with cargo-fuzz is the address sanitizer, of little use to a workspace that forbids unsafe code. Needs a C++ compiler.
# Stops at the first failure and leaves its input beside the corpus. Example: fuzz/run.sh sse -max_total_time=60
set -eu
target=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
corpus=$here/corpus/$target
mkdir -p "$corpus" "$here/artifacts/$target"
case $target in
# Captured answers as a start; before them stand one byte that chooses the dialect and eight that choose the cuts.
exchange | templates) before='\0000\0377\0377\0377\0377\0377\0377\0377\0377' ;;
http1) before='\0377\0377\0377\0377\0377\0377\0377\0377' ;;
*) before= ;;
esac
if [ -n "$before" ]; then
    for capture in "$here"/../crates/wire/tests/fixtures/engines/*/*.http; do
        name=$(basename "$(dirname "$capture")")-$(basename "$capture")
        { printf '%b' "$before"; cat "$capture"; } >"$corpus/$name"
    done
fi
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
triple=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --manifest-path "$here/Cargo.toml" --target "$triple" --bin "$target"
exec "${CARGO_TARGET_DIR:-$here/target}/$triple/release/$target" -artifact_prefix="$here/artifacts/$target/" "$corpus" "$@"
