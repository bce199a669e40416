#!/usr/bin/env bash
# What a machine with a GPU should be asked once: the tests of muzero2048, the benchmarks (of the learner also the MLP of
# deepmind with n = m = 3), ten minutes of training.
#
#   launch/gpu_check.sh [FILE]          all figures as one JSON object into FILE (default: gpu-check.json), an hour or so
#   SHORT=1 launch/gpu_check.sh [FILE]  a few minutes of it, on a CPU too, to try the script itself
#
# A part that fails is in the file with its exit code, and the others run all the same; the script then exits with 1.
set -u
cd "$(dirname "$0")/.."
file=$(realpath -m "${1:-gpu-check.json}")
python=${PYTHON:-python} work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

part() {  # NAME COMMAND...: run it, keep what it prints, its exit code and its seconds
    local name=$1 began=$SECONDS; shift
    echo "== $name: $*"
    "$@" 2>&1 | tee "$work/$name.out"
    echo "${PIPESTATUS[0]} $((SECONDS - began))" > "$work/$name.end"
}

if [ -n "${SHORT:-}" ]; then
    tests=(tests/muzero2048/networks/test_trunks.py) config=configs/muzero/tiny.yaml seconds=180
    benches=("learner: learner $config")
else
    tests=(tests/muzero2048) config=configs/muzero/dissertation.yaml seconds=600
    mlp="learner configs/muzero/deepmind.yaml muzero.search.root=gumbel"
    mlp+=" muzero.search.simulations=3 muzero.search.considered_actions=3"
    benches=("env: env" "search: search" "learner: learner" "mlp: $mlp")
fi
part tests "$python" -m pytest -q -p no:cacheprovider "${tests[@]}"
for bench in "${benches[@]}"; do
    # shellcheck disable=SC2086
    part "bench_${bench%%:*}" "$python" -m launch bench ${bench#*:} --json
done
# SIGTERM lets the training save and end: its exit code is then 75, which is as good as 0.
part train timeout --preserve-status "$seconds" "$python" -m launch train "$config" \
    run.name=check run.runs_folder="$work" run.profile=true run.evaluate_env_steps=0
[ -d "$work/check/profile" ] && rm -rf "${file%.json}-profile" && cp -r "$work/check/profile" "${file%.json}-profile"

"$python" - "$work" "$file" << 'EOF'
import json, sys
from pathlib import Path

import jax
from launch.run.environment import environment

work, file = Path(sys.argv[1]), Path(sys.argv[2])
result = {**environment(), "devices": [f"{d.platform} {d.device_kind}" for d in jax.devices()], "parts": {}}
for end in sorted(work.glob("*.end")):
    code, seconds = map(int, end.read_text().split())
    lines = end.with_suffix(".out").read_text().splitlines()
    part = {"exit_code": code, "seconds": seconds, "last_lines": lines[-20:]}
    if end.stem.startswith("bench_") and code == 0:
        part = {"exit_code": code, "seconds": seconds, **json.loads(lines[-1])}
    result["parts"][end.stem] = part
rows = work / "check" / "metrics.jsonl"
result["parts"]["train"]["metrics"] = [json.loads(row) for row in rows.open()] if rows.exists() else []
file.write_text(json.dumps(result, indent=1) + "\n")
print(f"all figures are in {file}")
sys.exit(any(part["exit_code"] not in (0, 75) for part in result["parts"].values()))
EOF
