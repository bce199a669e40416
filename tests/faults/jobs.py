"""Faults in sets of runs, here and on SLURM."""

from faults.mutant import Mutant

JOBS = (
    Mutant(
        "parts-of-an-evaluation-all-play-the-first-games",
        "launch/evaluation/parts.py",
        "return range(self.number - 1, count, self.of)",
        "return range(0, count, self.of)",
        ("launch/jobs/test_evaluations.py",),
    ),
    Mutant(
        "a-part-counts-as-played-too-early",
        "launch/evaluation/parts.py",
        "return found >= set(part.numbers(count))",
        "return bool(found & set(part.numbers(count)))",
        ("launch/jobs/test_evaluations.py",),
    ),
    Mutant(
        "the-launcher-gives-all-runs-the-first-cores",
        "launch/jobs/local.py",
        "task, slot = waiting.popleft(), self._free.pop(0)",
        "task, slot = waiting.popleft(), self._free[0]",
        ("launch/jobs/test_local.py",),
    ),
    Mutant(
        "a-crash-is-tried-again-without-end",
        "launch/jobs/local.py",
        "self._crashes[key] = self._crashes.get(key, 0) + 1",
        "self._crashes[key] = self._crashes.get(key, 0)",
        ("launch/jobs/test_local.py",),
    ),
    Mutant(
        "the-script-does-not-requeue",
        "launch/jobs/slurm.py",
        'if [ "$code" = {stopped} ] &&',
        'if [ "$code" = 0 ] &&',
        ("launch/jobs/test_slurm.py",),
    ),
    Mutant(
        "evaluations-do-not-wait-for-their-training",
        "launch/jobs/slurm.py",
        "f\"--dependency=aftercorr:{':'.join(after)}\"",
        "f\"--dependency=after:{':'.join(after)}\"",
        ("launch/jobs/test_slurm.py",),
    ),
    Mutant(
        "stop-leaves-the-evaluations-in-the-queue",
        "launch/jobs/following.py",
        "if folder.resolve() in output.parents]",
        "if folder.resolve() == output.parent]",
        ("launch/jobs/test_slurm.py",),
    ),
    Mutant(
        "a-changed-config-is-accepted",
        "launch/jobs/plan.py",
        "    if differing:\n",
        "    if not differing:\n",
        ("launch/jobs/test_plan.py",),
    ),
    Mutant(
        "a-killed-run-counts-as-finished",
        "launch/jobs/run_states.py",
        "if process.exit_code is None:",
        "if process.exit_code is not None:",
        ("launch/jobs/test_following.py",),
    ),
    Mutant(
        "another-process-waits-for-one-that-failed",
        "launch/train/processes.py",
        "if errors := self._client.key_value_dir_get(ERRORS):",
        "if errors := []:",
        ("launch/train/test_processes.py",),
    ),
)
