"""`evaluate` and `moves` by Monte Carlo tree search over n-tuple values, at full strength and below it."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from launch.cli import main
from launch.errors import UserError
from launch.evaluation.search_options import SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment import checkpoints, registry
from ntuple import MCTSConfig

YAML = """\
learner: ntuple
run: {name: small, group: small, seed: 1, final_games: 10}
ntuple: {rows: 2, columns: 3, network: ["0134", "1245"], env_steps: 20_000, report_env_steps: 20_000, threads: 1}
"""
RUN = "runs/small"
MCTS = ("--search", "mcts", "--simulations", "20")


@pytest.fixture(autouse=True)
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(YAML)
    assert main(["train", "small.yaml"]) == 0
    capsys.readouterr()


def last_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def checkpoint() -> Path:
    return checkpoints.find_checkpoint(Path(RUN))


def test_games_are_kept_and_parts_come_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("evaluate", RUN, *MCTS, "search.c=0.1", "--games", "8")
    first = last_json(capsys, *words, "--part", "1/2")
    whole = last_json(capsys, *words)
    assert (first["games"], whole["games"], whole["search"]) == (4, 8, "mcts-n20-c=0.1")
    assert whole["search_config"] == asdict(MCTSConfig(simulations=20, c=0.1))
    (log,) = Path(RUN, "evaluations").glob(f"*-mcts-n20-c=0.1-seed{final_evaluation_seed(1)}.games.jsonl")
    played = [json.loads(line)["number"] for line in log.read_text().splitlines()[1:]]
    assert sorted(played) == [1, 3, 5, 7]  # the part had the others
    assert last_json(capsys, *words)["score_mean"] == whole["score_mean"]


def test_records_are_of_legal_games(capsys: pytest.CaptureFixture[str]) -> None:
    result = last_json(capsys, "evaluate", RUN, *MCTS, "--games", "4", "--records", "games.txt")
    assert main(["judge", "games.txt"]) == 0
    assert f"{result['score_mean']:,.0f}" in capsys.readouterr().out


def test_moves_have_visits_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("moves", RUN, "--position", "2 2 0 / 4 0 0", *MCTS)
    found = last_json(capsys, *words)
    assert sum(move["visits"] for move in found["moves"].values()) == 19  # the first simulation makes the root
    assert found["line"][0].split()[0] == found["action"]
    assert re.fullmatch(r"(right|down|left) [24]@\([12],[123]\)", found["line"][0])
    assert main(list(words)) == 0
    assert f"expects: {', '.join(found['line'])}" in capsys.readouterr().out


def test_a_time_limit_searches_up_to_the_most() -> None:
    experiment, _ = checkpoints.read_checkpoint(checkpoint())
    search = resolve(experiment, SearchOptions("mcts", overrides=("search.seconds=0.01",)), checkpoint())
    assert search.config == MCTSConfig(simulations=MCTSConfig.MOST_SIMULATIONS, seconds=0.01)
    given = resolve(experiment, SearchOptions("mcts", 70, overrides=("search.seconds=0.01",)), checkpoint())
    assert given.config.simulations == 70


def test_strength_finds_the_z_of_a_score(capsys: pytest.CaptureFixture[str], mistake) -> None:
    drawn = ("evaluate", RUN, *MCTS, "search.c=0.5", "search.r_th=0")
    means = {}
    for z in (-2.0, 0.0, 4.0):
        result = last_json(capsys, *drawn, "--games", "300", "search.choice=drawn", f"search.z={z}")
        means[z] = result["score_mean"]
    assert means[-2.0] < means[0.0] < means[4.0]
    wanted = 0.3 * means[0.0] + 0.7 * means[4.0]
    found = last_json(capsys, *drawn, "--games", "300", "--strength", f"{wanted:.1f}")
    assert found["search_config"]["z"] == pytest.approx(2.8, abs=0.01)
    assert found["search_config"]["choice"] == "drawn"
    # Another c was not measured, and neither was another checkpoint.
    file = next(Path(RUN, "evaluations").glob("*z=-2.0*.json"))
    other = json.loads(file.read_text()) | {"env_steps": 10_000, "score_mean": 1e6}
    file.with_name("other.json").write_text(json.dumps(other))
    again = last_json(capsys, *drawn, "--games", "4", "--strength", f"{wanted:.1f}")
    assert 1.5 < again["search_config"]["z"] < 3.6  # the evaluation at 2.8 counts too
    assert "0 values of z are measured" in mistake("evaluate", RUN, *MCTS, "search.c=0.4", "--strength", "100")
    assert f"is not between the measured {means[-2.0]:,.0f} (z = -2)" in mistake(*drawn, "--strength", "9000")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--search", "mcts", "--simulations", "0"], "search.simulations is 0; give 1 to 50000"),
        (["--search", "mcts", "search.c=-1"], "search.c is -1; give a number in [0, 1000]"),
        (["--search", "mcts", "search.c=nan"], "search.c is 'nan'"),
        (["--search", "mcts", "--plies", "2"], "--plies 2 is of expectimax"),
        (["--search", "mcts", "--model", "simulator"], "--model simulator is of a search in JAX"),
        (["--search", "mcts", "search.chance=ratio"], "chance"),
        (["--strength", "100"], "--strength 100 is of mcts; add --search mcts"),
        (["--search", "mcts", "--strength", "100"], "0 values of z are measured with these settings; measure more"),
        (["--simulations", "5"], "give --search mcts, gumbel or puct"),
    ],
)
def test_searches_that_cannot_be(mistake, words: list[str], says: str) -> None:
    assert says in mistake("evaluate", RUN, *words)


def test_other_values_cannot_be_searched() -> None:
    experiment, _ = checkpoints.read_checkpoint(checkpoint())
    settings = replace(experiment.settings, values="state", target=type(experiment.settings.target)())
    with pytest.raises(UserError, match="afterstates"):
        registry.restore_player("ntuple", checkpoint(), settings, "mcts", MCTSConfig())
