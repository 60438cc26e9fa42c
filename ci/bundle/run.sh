#!/usr/bin/env bash
# Holds a GPU to the conformance suite and measures the main ops on it. Needs a CUDA driver, no Rust and no network.
#
#   ./run.sh [check] [speed] [tools] [--backend gpu|sim] [--quick] [--out DIR] [--seconds N]
#
# check: what the machine is, what its compiler makes of the kernels, trials of that compiler, the suite with both forms of AES
#        and with every op recorded and replayed, proofs beside the processor's
# speed: whole proofs, and the main ops beside the driver's copy and, where python3 has torch, torch
# tools: the suite's other conditions, compute-sanitizer and ncu where they are found
#
# Without a stage all three run. Each ends within N seconds (540), whatever hangs, and no piece of it ends another: what is in
# DIR (./results) is whole at any moment. summary.txt has a line for each piece, log.txt all they said.
set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
trefoil="$here/trefoil"
backend=gpu
out=results
quick=0
seconds=540
stages=()

usage() {
    echo "run.sh: $1; try [check] [speed] [tools] [--backend gpu|sim] [--quick] [--out DIR] [--seconds N]" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
        check | speed | tools) stages+=("$1") ;;
        --backend | --out | --seconds)
            if [ $# -lt 2 ]; then usage "$1 takes a value"; fi
            case "$1" in
                --backend) backend="$2" ;;
                --out) out="$2" ;;
                --seconds) seconds="$2" ;;
            esac
            shift ;;
        --quick) quick=1 ;;
        *) usage "unknown argument \`$1\`" ;;
    esac
    shift
done
case "$seconds" in '' | *[!0-9]*) usage "--seconds takes a whole number" ;; esac
if [ ${#stages[@]} -eq 0 ]; then stages=(check speed tools); fi
mkdir -p "$out" || exit 2
# Where the program keeps keys and weights, no image of its memory may stay behind.
ulimit -c 0
# Without a place to keep compiled kernels, every process of every piece compiles them anew.
export HOME="${HOME:-/tmp}" CUDA_CACHE_PATH="${CUDA_CACHE_PATH:-${TMPDIR:-/tmp}/trefoil-jit}"
failed=0

# Some images mount the driver without telling the loader. This names the library, and its folder for the JIT's library.
find_driver() {
    if [ "$backend" != gpu ] || [ -n "${TREFOIL_CUDA_LIBRARY:-}" ]; then return; fi
    local known library
    known="$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null)"
    if [[ "$known" == *libcuda.so.1* ]]; then return; fi
    for folder in /usr/local/nvidia /usr/lib /usr/lib64 /usr/local/cuda; do
        library="$(find -L "$folder" -name libcuda.so.1 ! -path '*/stubs/*' 2>/dev/null | sort | head -n 1)"
        if [ -n "$library" ]; then break; fi
    done
    if [ -n "$library" ]; then
        export TREFOIL_CUDA_LIBRARY="$library"
        LD_LIBRARY_PATH="$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        export LD_LIBRARY_PATH
        note "driver library: $library"
    fi
}

note() { echo "$*" | tee -a "$out/summary.txt"; }

# piece NAME SECONDS COMMAND...: runs the command for at most that long and notes how it ended.
piece() {
    local name="$1" limit="$2" left start status
    shift 2
    left=$((stage_end - SECONDS))
    if [ "$left" -lt 5 ]; then
        note "$name: not run, out of time"
        failed=1
        return 1
    fi
    if [ "$limit" -gt "$left" ]; then limit="$left"; fi
    echo "== $name (at most $limit s)" | tee -a "$out/log.txt"
    start=$SECONDS
    LIMIT="$limit" timeout -k 5 "$limit" "$@" >> "$out/log.txt" 2>&1
    status=$?
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        note "$name: killed after $limit s"
    else
        note "$name: exit $status after $((SECONDS - start)) s"
    fi
    if [ "$status" -ne 0 ]; then failed=1; fi
    return "$status"
}

# suite EVENTS ARGUMENT...: the suite, an op to a process, ended a little before the piece would be.
suite() {
    local events="$1"
    shift
    "$trefoil" conformance --backend "$backend" --isolate --case-limit 30 --deadline $((LIMIT > 15 ? LIMIT - 10 : LIMIT)) \
        --events "$out/$events" "$@"
}
bench() {
    local name="$1"
    shift
    "$trefoil" bench --backend "$backend" --isolate --line-limit 60 --deadline $((LIMIT > 15 ? LIMIT - 10 : LIMIT)) \
        --json "$out/$name.json" --html "$out/$name.html" "$@"
}
kernels() {
    local status=0
    TREFOIL_BACKEND="$backend" "$trefoil" doctor --kernels --json > "$out/kernels.json.part" || status=$?
    mv "$out/kernels.json.part" "$out/kernels.json"
    return "$status"
}
# proofs LOG: a proof of each computation that ships, of 2^LOG rows, in each way to keep it in memory, which is that of the
# processor byte for byte.
proofs() {
    local air way failed=0
    for air in wide-fibonacci state-machine plonk poseidon2 blake2s; do
        if ! "$trefoil" stark prove --air "$air" --log-rows "$1" --backend cpu --out "$out/expected.part"; then
            echo "proof of $air by the processor: failed"
            failed=1
            continue
        fi
        for way in "" "--blocks 4" "--blocks 2 --host"; do
            # shellcheck disable=SC2086 # they are options
            if ! { "$trefoil" stark prove --air "$air" --log-rows "$1" $way --backend "$backend" --out "$out/proof.part" &&
                cmp "$out/proof.part" "$out/expected.part"; }; then
                echo "proof of $air $way: failed"
                failed=1
            fi
        done
    done
    return "$failed"
}
# whole_proofs ROUNDS LOG...: the stages of proofs, and what they hand to the driver.
whole_proofs() {
    local rounds="$1" air log_rows failed=0
    shift
    rm -f "$out/stark.txt"
    for log_rows in "$@"; do
        for air in wide-fibonacci state-machine plonk poseidon2 blake2s; do
            echo "$air, 2^$log_rows rows" | tee -a "$out/stark.txt"
            "$trefoil" stark bench --air "$air" --log-rows "$log_rows" --backend "$backend" --rounds "$rounds" |
                tee -a "$out/stark.txt" || failed=1
        done
    done
    return "$failed"
}
# families: the committed samples of kernels, a verdict for each family.
families() { "$trefoil" trials --backend "$backend" --samples "$here/kernels" | tee "$out/families.txt"; }
torch() { python3 "$here/torch_times.py" "$@" "$out/torch.json"; }
pageable() { TREFOIL_GPU_PINNED=0 "$@"; }
bitsliced() { TREFOIL_GPU_AES=bitsliced "$@"; }
interpreted() { TREFOIL_GPU_AIR=interpreted "$@"; }
sanitizer() {
    local tool="$1" ops="$2" elements="$3"
    TREFOIL_GPU_TIMEOUT='' "$compute_sanitizer" --tool "$tool" --error-exitcode 9 "$trefoil" conformance \
        --backend "$backend" --condition plain --max-elements "$elements" --verbose "$ops" 2>&1 | tee -a "$out/sanitizer.txt" | tail -n 40
}
profile() {
    "$ncu" --csv --page raw --clock-control none --launch-skip 4 --launch-count 2 \
        --section SpeedOfLight --section Occupancy --section LaunchStats --section MemoryWorkloadAnalysis \
        "$trefoil" bench --backend "$backend" --exact "$1" >> "$out/ncu.csv"
}
export -f suite bench kernels proofs whole_proofs families torch pageable bitsliced interpreted sanitizer profile
export here trefoil backend out

# run NAME SECONDS FUNCTION ARGUMENT...: a piece that is one of the functions above. The shell outlives the first signal, so
# that the second one finds whatever did not end by it.
run() {
    local name="$1" limit="$2"
    shift 2
    # shellcheck disable=SC2016 # the inner shell expands it
    piece "$name" "$limit" bash -c 'trap : TERM; set -o pipefail; "$@"' run "$@"
}

tool() {
    command -v "$1" || find -L /usr/local/cuda*/bin /opt/nvidia -maxdepth 3 -name "$1" -type f 2>/dev/null | sort | tail -n 1
}

check() {
    local small=4096 all=() walks=fss.
    # A rehearsal shows that the pieces run; other tests hold the device to every op.
    if [ "$quick" = 1 ]; then small=0 all=(circle.) walks=fss.cmp; fi
    piece doctor 60 "$trefoil" doctor
    run "suite, small, AES by table" 150 suite small-table.jsonl --condition plain --max-elements "$small" "${all[@]}"
    if [ $? -eq 3 ]; then exit 3; fi
    run "suite, small, bitsliced AES" 60 bitsliced suite small-bitsliced.jsonl --condition plain --max-elements "$small" "$walks"
    run "suite, small, interpreted programs" 60 interpreted suite small-interpreted.jsonl --condition plain \
        --max-elements "$small" air.
    run "kernels as compiled" 120 kernels
    run "trials of the compiler" 60 "$trefoil" trials --backend "$backend"
    rm -f "$out/families.txt"
    run "families of kernels" 60 families
    if [ -s "$out/families.txt" ]; then sed 's/^/family /' "$out/families.txt" | tee -a "$out/summary.txt"; fi
    if [ "$quick" = 1 ]; then run "proofs" 300 proofs 5; else run "proofs" 120 proofs 12; fi
    if [ "$quick" = 1 ]; then return; fi
    run "suite, AES by table" 240 suite full-table.jsonl --condition plain
    run "suite, bitsliced AES" 120 bitsliced suite full-bitsliced.jsonl --condition plain fss.
    run "suite, interpreted programs" 120 interpreted suite full-interpreted.jsonl --condition plain air.
    run "suite, recorded and replayed" 120 suite recorded.jsonl --condition recorded --max-elements 65536
}

speed() {
    local arguments=() small=()
    if [ "$quick" = 1 ]; then small=(--quick); fi
    if [ "$backend" != gpu ]; then
        arguments=(--note "simulated device: times say nothing about a real one")
    elif ! timeout -k 5 60 python3 -c 'import torch' 2>/dev/null; then
        note "torch: not found; its times are left out"
    else
        rm -f "$out/torch.json"
        run torch 150 torch "${small[@]}"
        # It holds what was measured, also where torch did not get to its end.
        if [ -s "$out/torch.json" ]; then arguments=(--peer "$out/torch.json"); fi
    fi
    if [ "$quick" = 1 ]; then run "whole proofs" 300 whole_proofs 1 4; else run "whole proofs" 60 whole_proofs 15 16 18; fi
    run "speed" 330 bench speed --events "$out/speed.jsonl" "${small[@]}" "${arguments[@]}"
    run "copies without pinned memory" 30 pageable bench copies-pageable "${small[@]}" copy.
    run "speed, bitsliced AES" 90 bitsliced bench speed-bitsliced "${small[@]}" pfss.
    run "speed, interpreted programs" 30 interpreted bench speed-interpreted "${small[@]}" air.
}

tools() {
    local elements=65536 all=() ops line
    if [ "$quick" = 1 ]; then elements=0 all=(circle.); fi
    run "suite, other conditions" 110 suite conditions.jsonl --condition forked --condition guarded --condition starved \
        --max-elements "$elements" "${all[@]}"
    if [ "$backend" != gpu ]; then return; fi
    compute_sanitizer="$(tool compute-sanitizer)" ncu="$(tool ncu)"
    export compute_sanitizer ncu
    if [ -z "$compute_sanitizer" ]; then
        note "compute-sanitizer: not found"
    else
        for ops in circle. fss. linalg. stark. correction. factor. optim. recurrent. tensor.; do
            run "memcheck, $ops" 16 sanitizer memcheck "$ops" 512
            run "racecheck, $ops" 16 sanitizer racecheck "$ops" 128
        done
        run "synccheck" 25 sanitizer synccheck fss. 128
        run "initcheck" 25 sanitizer initcheck circle. 128
    fi
    if [ -z "$ncu" ]; then
        note "ncu: not found"
    else
        for line in $("$trefoil" bench --backend "$backend" --list); do
            # As many as there is time for.
            if [ $((stage_end - SECONDS)) -lt 30 ]; then break; fi
            run "ncu, $line" 30 profile "$line"
        done
    fi
}

find_driver
for stage in "${stages[@]}"; do
    stage_end=$((SECONDS + seconds))
    note "== $stage on $backend"
    "$stage"
    rm -f "$out"/*.part "$out"/.tmp*
done
echo "results: $out"
exit "$failed"
