"""launch/recipes: what they start exists, and their parts agree. Their own tools check the rest (docs/launch.md)."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from launch.cli import make_parser
from launch.experiment.experiment import Experiment, load_experiment
from launch.experiment.processes import ADDRESS, NUM_PROCESSES, PROCESS_ID
from launch.jobs.cluster import load_cluster

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "launch" / "recipes"
CONTAINERS = ("Dockerfile", "apptainer.def")


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((RECIPES / name).read_text()))


def _container(name: str) -> dict[str, Any]:
    (container,) = _documents(name)[-1]["spec"]["template"]["spec"]["containers"]
    return container


def _experiment(words: list[str]) -> Experiment:
    """Read the words of a training as the command does; the image has the checkout in /src."""
    arguments, rest = make_parser().parse_known_args([word.replace("/src/", f"{ROOT}/") for word in words])
    assert arguments.resume
    return load_experiment(Path(ROOT, arguments.config), [*arguments.overrides, *rest])


@pytest.mark.parametrize("name", ["kubernetes_job.yaml", "kubernetes_indexed_job.yaml"])
def test_a_kubernetes_job_trains_one_run_that_outlives_its_pods(name: str) -> None:
    job, container = _documents(name)[-1], _container(name)
    assert _experiment(container["args"]).learner == "muzero"
    assert job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] == container["name"]
    volumes, mounts = job["spec"]["template"]["spec"]["volumes"], container["volumeMounts"]
    assert [volume["name"] for volume in volumes] == [mount["name"] for mount in mounts]
    assert mounts[0]["mountPath"] == f"{container['workingDir']}/runs"  # the default of run.runs_folder


def test_the_pods_of_an_indexed_job_find_each_other() -> None:
    service, job = _documents("kubernetes_indexed_job.yaml")
    container, name, count = (
        _container("kubernetes_indexed_job.yaml"),
        job["metadata"]["name"],
        job["spec"]["completions"],
    )
    variables = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert {ADDRESS, NUM_PROCESSES, PROCESS_ID} <= set(variables)
    assert variables[NUM_PROCESSES] == str(count) == str(job["spec"]["parallelism"])
    (port,) = service["spec"]["ports"]
    assert variables[ADDRESS] == f"{name}-0.{service['metadata']['name']}:{port['port']}"
    assert job["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": name}
    devices = count * int(container["resources"]["limits"]["nvidia.com/gpu"])
    settings: Any = _experiment(container["args"]).settings
    assert [size % devices for size in (settings.num_envs, settings.replay.batch_size, settings.replay.reanalysed)] == [
        0, 0, 0,
    ]  # fmt: skip


def test_skypilot_trains_a_run_in_its_bucket() -> None:
    (task,) = _documents("skypilot.yaml")
    experiment = _experiment(shlex.split(task["run"])[1:])
    assert experiment.run.runs_folder in task["file_mounts"]


def test_a_box_with_gpus() -> None:
    cluster = load_cluster(str(RECIPES / "gpu_box.yaml"))
    assert (cluster.engine, cluster.gpus, cluster.at_once) == ("local", 1, 4)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_installs_files_of_the_checkout(name: str) -> None:
    text = (RECIPES / name).read_text()
    assert "--require-hashes --requirement" in text
    assert re.search(r"^(exec|ENTRYPOINT|    exec) ?\W*muzero2048", text, re.MULTILINE)
    copied = re.findall(r"^    (\S+) /src/\S+$", text, re.MULTILINE) or re.findall(r"^COPY (\S+) ", text, re.MULTILINE)
    assert "requirements-gpu.lock" in copied
    for path in copied:
        assert (ROOT / path).exists(), path
    if name == "apptainer.def":  # what the wheel is built from
        assert {"pyproject.toml", "README.md", "LICENSE", "muzero2048", "ntuple", "launch", "configs"} <= set(copied)


def test_the_packages_of_the_gpu_are_those_of_the_tests() -> None:
    def packages(name: str) -> set[str]:
        return set(re.findall(r"^(\S+==\S.*?) \\$", (ROOT / name).read_text(), re.MULTILINE))

    gpu, tested = packages("requirements-gpu.lock"), packages("requirements.lock")
    names = {package.partition("==")[0] for package in tested}
    assert {package for package in gpu if package.partition("==")[0] in names} <= tested
    assert any(package.startswith("jax-cuda13-plugin==") for package in gpu)
