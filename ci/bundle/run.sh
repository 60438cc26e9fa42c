#!/usr/bin/env bash
# Holds a GPU to the conformance suite and measures the main ops on it. Needs a CUDA driver, no Rust and no network.
#
#   ./run.sh [--backend gpu|sim] [--quick] [--out DIR]
#
# Writes DIR/doctor.txt, DIR/conformance.txt, DIR/trefoil-gpu.json and DIR/trefoil-gpu.html (DIR: ./results). Where python3
# has torch, its times for the same ops stand beside ours.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
backend=gpu
out=results
quick=()
conditions=()
while [ $# -gt 0 ]; do
    case "$1" in
        --backend | --out)
            if [ $# -lt 2 ]; then echo "run.sh: $1 takes a value" >&2; exit 2; fi
            if [ "$1" = --out ]; then out="$2"; else backend="$2"; fi
            shift ;;
        --quick) quick=(--quick); conditions=(--condition plain) ;;
        *) echo "run.sh: unknown argument \`$1\`; try --backend gpu|sim, --quick, --out DIR" >&2; exit 2 ;;
    esac
    shift
done
mkdir -p "$out"
failed=0

"$here/trefoil" doctor | tee "$out/doctor.txt"

echo "== conformance on $backend"
"$here/trefoil" conformance --backend "$backend" "${conditions[@]}" 2>&1 | tee "$out/conformance.txt" || failed=$?
if [ "$failed" -ge 2 ]; then exit "$failed"; fi

peer=()
if [ "$backend" = gpu ] && python3 -c 'import torch' 2>/dev/null; then
    echo "== torch"
    if python3 "$here/torch_times.py" "${quick[@]}" > "$out/torch.json"; then
        peer=(--peer "$out/torch.json")
    else
        echo "run.sh: torch failed; its times are left out" >&2
        failed=1
    fi
else
    echo "run.sh: no torch beside this backend; its times are left out"
fi

note="clocks not read: no nvidia-smi"
if [ "$backend" = sim ]; then
    note="simulated device: times say nothing about a real one"
elif command -v nvidia-smi >/dev/null; then
    note="$(nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem --format=csv,noheader | head -n 1)"
fi

echo "== speed on $backend"
"$here/trefoil" bench --backend "$backend" "${quick[@]}" "${peer[@]}" --note "$note" \
    --json "$out/trefoil-gpu.json" --html "$out/trefoil-gpu.html" || failed=1

echo "results: $out"
exit "$failed"
