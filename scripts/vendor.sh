#!/usr/bin/env bash
# uPlot, as it lies in crates/report: fetches the version that VERSION names, by npm. With --check it changes nothing and fails where
# what lies there differs; with --latest it takes the newest version.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=crates/report/src/html/vendor
version=$(cat "$folder/VERSION")
check=false
case ${1:-} in
--check) check=true ;;
--latest) version=$(npm view uplot version) ;;
'') ;;
*) echo "usage: $0 [--check|--latest]" >&2; exit 2 ;;
esac
command -v npm >/dev/null || { echo 'vendor: npm is missing; it is needed here only, not to build' >&2; exit 3; }
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
(cd "$new" && npm pack --silent --ignore-scripts "uplot@$version" >name) || { echo "vendor: npm does not give uplot $version" >&2; exit 3; }
(cd "$new" && tar xzf "$(cat name)")
cp "$new/package/dist/uPlot.iife.min.js" "$new/package/dist/uPlot.min.css" "$new/"
cp "$new/package/LICENSE" "$new/uPlot.LICENSE"
printf '%s\n' "$version" >"$new/VERSION"
for file in uPlot.iife.min.js uPlot.min.css uPlot.LICENSE VERSION; do
    if $check; then
        cmp "$new/$file" "$folder/$file" || { echo "vendor: $folder/$file is not that of uplot $version; run scripts/vendor.sh" >&2; exit 1; }
    else
        install -m 644 "$new/$file" "$folder/$file"
    fi
done
if $check; then echo "uplot $version is as npm has it"; newest=$(npm view uplot version); [ "$newest" = "$version" ] || echo "newer: uplot $newest (scripts/vendor.sh --latest)"; else echo "uplot $version lies in $folder"; fi
