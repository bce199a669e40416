#!/usr/bin/env bash
# Runs the GPU tests of muzero2048, the benchmarks, ten minutes of training, and an hour of configs/muzero/h100.yaml. The
# learner is measured with the config dissertation and with the MLP of the config deepmind (n = m = 3).
#
#   launch/gpu_check.sh [FILE [PART ...]]  writes all figures as one JSON object to FILE (default: gpu-check.json). All
#                                          parts (PARTS below) take over two hours, most of the first one compilation
#   SHORT=1 launch/gpu_check.sh [FILE]     runs small versions in a few minutes, also on a CPU, to test the script
#   HOUR_SECONDS=800 launch/gpu_check.sh [FILE] hour   trains configs/muzero/h100.yaml so long (default: 3600), then plays
#                                          with 16 and 50 simulations; the run is copied to FILE without .json, -hour
#
# If a part fails, its exit code is in the file, the other parts still run, and the script exits with 1.
set -u
cd "$(dirname "$0")/.."
file=$(realpath -m "${1:-gpu-check.json}")
PARTS="tests env search learner mlp train hour"
wanted=${*:2}
wanted=${wanted:-$PARTS}
for name in $wanted; do
    [[ " $PARTS " == *" $name "* ]] || { echo "error: no part '$name'; the parts are $PARTS" >&2; exit 2; }
done
python=${PYTHON:-python} work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

part() {  # NAME COMMAND...: run the command; save its output, its exit code and its seconds
    local name=$1 began=$SECONDS; shift
    local of=${name#bench_}; of=${of%%_*}  # hour_16 belongs to the part hour
    [[ " $wanted " == *" $of "* ]] || return 0
    echo "== $name: $*"
    "$@" 2>&1 | tee "$work/$name.out"
    echo "${PIPESTATUS[0]} $((SECONDS - began))" > "$work/$name.end"
}

if [ -n "${SHORT:-}" ]; then
    tests=(tests/muzero2048/networks/test_trunks.py) config=configs/muzero/tiny.yaml seconds=180
    hour=$config games=10
    benches=("learner: learner $config")
else
    tests=(tests/muzero2048) config=configs/muzero/dissertation.yaml seconds=600
    hour=configs/muzero/h100.yaml games=200
    mlp="learner configs/muzero/deepmind.yaml muzero.search.root=gumbel"
    mlp+=" muzero.search.simulations=3 muzero.search.gumbel.considered_actions=3"
    benches=("env: env" "search: search" "learner: learner" "mlp: $mlp")
fi
# Without the flags of tests/conftest.py, which compile fast programs for a CPU: the GPU runs those of a training.
part tests env XLA_FLAGS="${XLA_FLAGS:-}" "$python" -m pytest -q -p no:cacheprovider "${tests[@]}"
for bench in "${benches[@]}"; do
    # shellcheck disable=SC2086
    part "bench_${bench%%:*}" "$python" -m launch bench ${bench#*:} --json
done
# At SIGTERM the training saves and exits with 75, which counts as success.
part train timeout --preserve-status "$seconds" "$python" -m launch train "$config" \
    run.name=check run.runs_folder="$work" run.profile=true run.evaluate_env_steps=0
[ -d "$work/check/profile" ] && rm -rf "${file%.json}-profile" && cp -r "$work/check/profile" "${file%.json}-profile"

part hour timeout --preserve-status "${HOUR_SECONDS:-3600}" "$python" -m launch train "$hour" \
    run.name=hour run.runs_folder="$work" run.final_games="$games"
for n in 16 50; do
    part "hour_$n" "$python" -m launch evaluate "$work/hour" --simulations "$n" --games "$games" --json
done
[ -d "$work/hour" ] && rm -rf "${file%.json}-hour" && cp -r "$work/hour" "${file%.json}-hour"

"$python" - "$work" "$file" << 'EOF'
import json, sys
from pathlib import Path

import jax
from launch.experiment.machine_info import environment

work, file = Path(sys.argv[1]), Path(sys.argv[2])
result = {**environment(), "devices": [f"{d.platform} {d.device_kind}" for d in jax.devices()], "parts": {}}
for end in sorted(work.glob("*.end")):
    code, seconds = map(int, end.read_text().split())
    lines = end.with_suffix(".out").read_text().splitlines()
    part = {"exit_code": code, "seconds": seconds, "last_lines": lines[-20:]}
    if end.stem.startswith(("bench_", "hour_")) and code == 0:
        part = {"exit_code": code, "seconds": seconds, **json.loads(lines[-1])}
    result["parts"][end.stem] = part
rows = work / "check" / "metrics.jsonl"
if rows.exists():
    result["parts"]["train"]["metrics"] = [json.loads(row) for row in rows.open()]
file.write_text(json.dumps(result, indent=1) + "\n")
print(f"all figures are in {file}")
sys.exit(any(part["exit_code"] not in (0, 75) for part in result["parts"].values()))
EOF
