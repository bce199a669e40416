"""The search with which a checkpoint is evaluated, its name, and the errors of search options."""

import json
import re
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from toy import ToyConfig

from launch.cli import main
from launch.commands.parser import Parser, add_search_options, search_options
from launch.errors import UserError
from launch.evaluation.search_options import SearchChoice, SearchOptions
from launch.evaluation.searches import NOISE, resolve
from launch.evaluation.seeds import final_evaluation_seed
from launch.experiment.checkpoints import State, save_checkpoint
from launch.experiment.experiment import CONFIG_FILE, Experiment, RunConfig, load_experiment
from launch.experiment.processes import Processes
from launch.files import in_json
from muzero2048.deep_td.config import DeepTDConfig
from muzero2048.search.config import NetworkExpectimaxConfig, SearchConfig
from muzero2048.training.config import ReplayConfig
from ntuple import ExpectimaxConfig, MCTSConfig, NTupleConfig
from ntuple.core.settings import keys_of
from tests.settings import configured

ROOT = Path(__file__).parents[3]
MUZERO_CONFIG = ROOT / "configs" / "muzero" / "tiny.yaml"
HERE = Path("here")
MCTX, WEIGHTED = "search.engine=mctx", "search.chance=weighted"
RUN = RunConfig("one", "g")
NTUPLE = Experiment("ntuple", RUN, NTupleConfig(rows=2, columns=2, network="0123"))
OWN = configured(SearchConfig, simulations=8, c_scale=1.0, gumbel_scale=0.5)
MUZERO = Experiment("muzero", RUN, replace(load_experiment(MUZERO_CONFIG).settings, search=OWN))
DEEP_TD = Experiment("deep_td", RUN, DeepTDConfig(env_steps=8192, report_env_steps=8192, replay=ReplayConfig(8192)))
TOY = Experiment("toy", RUN, ToyConfig())
TREE = configured(
    SearchConfig, model="simulator", simulations=16, considered_actions=2, c_scale=1.0, chance="weighted",
    read_out="expectimax",
)  # fmt: skip
SHALLOW = configured(TREE, simulations=4, considered_actions=4)


def asked(words: str) -> SearchOptions:
    """Return the options of words of the command line."""
    parser = Parser()
    add_search_options(parser)
    return search_options(*parser.parse_known_args(words.split()))


@pytest.mark.parametrize(
    ("experiment", "words", "name", "config"),
    [
        (NTUPLE, "", "1ply", None),
        (NTUPLE, "--search 1ply", "1ply", None),
        (NTUPLE, "--search gumbel", "gumbel-n16-simulator-ntuple", TREE),
        # With 4 simulations each move is evaluated once, whether an option or an override sets them; an explicit
        # considered_actions is kept.
        (NTUPLE, "--search gumbel --simulations 4", "gumbel-n4-simulator-ntuple-considered_actions=4", SHALLOW),
        (NTUPLE, "--search gumbel search.simulations=4", "gumbel-n4-simulator-ntuple-considered_actions=4", SHALLOW),
        (NTUPLE, "--search gumbel --simulations 4 search.gumbel.considered_actions=2",
         "gumbel-n4-simulator-ntuple", replace(TREE, simulations=4)),
        (NTUPLE, "--search puct --simulations 50 --model simulator --value ntuple",
         "puct-n50-simulator-ntuple", replace(TREE, root="puct", simulations=50)),
        (NTUPLE, "--search gumbel search.read_out=mean search.chance=deficit",
         "gumbel-n16-simulator-ntuple-chance=deficit-read_out=mean", replace(TREE, chance="deficit", read_out="mean")),
        # A time limit alone: as deep, or as many simulations, as there can be.
        (NTUPLE, "--search expectimax search.seconds=0.0005",
         "expectimax-p16-seconds=0.0005", ExpectimaxConfig(plies=16, seconds=0.0005)),
        (NTUPLE, "--search mcts --simulations 20 search.c=0.1", "mcts-n20-c=0.1", MCTSConfig(simulations=20, c=0.1)),
        (NTUPLE, "--search mcts search.seconds=0.01",
         "mcts-n50000-seconds=0.01", MCTSConfig(simulations=MCTSConfig.MOST_SIMULATIONS, seconds=0.01)),
        (NTUPLE, "--search mcts --simulations 70 search.seconds=0.01",
         "mcts-n70-seconds=0.01", MCTSConfig(simulations=70, seconds=0.01)),
        (MUZERO, "", "gumbel-n8-c_scale=1.0", OWN),
        (MUZERO, "--search puct --value network", "puct-n8-c_scale=1.0", replace(OWN, root="puct")),
        (MUZERO, "--simulations 100 --model simulator",
         "gumbel-n100-simulator-c_scale=1.0", replace(OWN, simulations=100, model="simulator")),
        (MUZERO, "search.gumbel.c_scale=1e-1 search.simulations=2_0 search.gumbel_scale=0",
         "gumbel-n20", configured(OWN, c_scale=0.1, simulations=20, gumbel_scale=0.0)),
        (MUZERO, "--search expectimax", "expectimax-p2", NetworkExpectimaxConfig()),
        (MUZERO, "--search expectimax --plies 1 --model simulator --value network",
         "expectimax-p1-simulator", NetworkExpectimaxConfig(1, "simulator")),
        (MUZERO, "--search expectimax search.least_prior=0.05 search.plies=3",
         "expectimax-p3-least_prior=0.05", NetworkExpectimaxConfig(3, least_prior=0.05)),
        (DEEP_TD, "--search expectimax", "expectimax-p2-simulator", NetworkExpectimaxConfig(model="simulator")),
        (DEEP_TD, "", "1ply", None),
        (DEEP_TD, "--search gumbel", "gumbel-n16-simulator", TREE),
        (DEEP_TD, "--search puct --simulations 4 --model simulator --value network",
         "puct-n4-simulator-considered_actions=4", replace(SHALLOW, root="puct")),
        (TOY, "", "1ply", None),
    ],
)  # fmt: skip
def test_what_is_asked_for(experiment: Experiment, words: str, name: str, config: object):
    kind = "1ply" if config is None else name.partition("-")[0].replace("gumbel", "tree").replace("puct", "tree")
    assert resolve(experiment, asked(words), HERE) == SearchChoice(name, config, kind)
    assert re.fullmatch(r"\w[\w.=-]*", name)


def test_other_settings_have_other_names():
    changes = {
        "engine": "mctx", "model": "learned", "simulations": 17, "root": "puct", "gumbel.considered_actions": 3,
        "inside": "gumbel", "chance": "ratio", "read_out": "expectimax", "gumbel.c_visit": 51.5,
        "gumbel.c_scale": 0.1000001,
        "normalization": "fixed", "range_floor": 2, "value_scale": 3, "puct.c_init": 4, "puct.c_base": 5,
        "puct.unvisited": "zero", "gumbel.completion": "value", "views": 8,
    }  # fmt: skip
    plain = SearchConfig(model="simulator", simulations=16)
    assert changes.keys() | NOISE == {key.name for key in keys_of(SearchConfig)}
    words = tuple(f"search.{name}={value}" for name, value in changes.items())
    base = Experiment("muzero", RUN, replace(MUZERO.settings, search=plain))
    names = [resolve(base, SearchOptions(overrides=(word,)), HERE).name for word in words]
    assert len({*names, resolve(base, SearchOptions(), HERE).name}) == len(changes) + 1
    # Names are parts of file names. Long names are cut, but still differ.
    long = [word for word in words if not word.startswith(("search.engine", "search.puct.c_base"))]
    names = [resolve(base, SearchOptions(overrides=(*long, f"search.puct.c_base={c}")), HERE).name for c in (5, 6)]
    assert len({*names}) == 2
    assert max(len(name) for name in names) <= 160


OTHER_SEARCHES = "leave out {} or give --search expectimax, mcts, gumbel or puct"
HOLDS = "the checkpoint holds"


@pytest.mark.parametrize(
    ("experiment", "words", "line"),
    [
        (NTUPLE, "--search gumbel --model learned",
         f"here: {HOLDS} an n-tuple network, not a learned model; give --model simulator"),
        (NTUPLE, "--search gumbel search.model=learned",
         f"here: {HOLDS} an n-tuple network, not a learned model; give --model simulator"),
        (NTUPLE, "--strength 100", "here: --strength 100 is of mcts; add --search mcts"),
        (NTUPLE, "--plies 2", "here: --plies 2 is of expectimax; add --search expectimax"),
        (NTUPLE, "--search mcts --plies 2", "here: --plies 2 is of expectimax; add --search expectimax"),
        (NTUPLE, "--search mcts --model simulator",
         "here: --model simulator is of a search in JAX; leave it out, or give --search gumbel"),
        (NTUPLE, "--search mcts search.c=nan",
         "override search.c=nan: search.c is 'nan'; give a number in [0, 1000]"),
        (NTUPLE, "--search expectimax --simulations 4", "here: --simulations 4 is of a tree search; leave it out"),
        (NTUPLE, "--search expectimax search.heuristic.empty=8",
         "here: a network values its boards; leave out search.heuristic.empty=8"),
        (NTUPLE, "--value network", f"here: {HOLDS} an n-tuple network, not a value network; give --value ntuple"),
        (MUZERO, "--value ntuple", f"here: {HOLDS} a value network, not an n-tuple network; give --value network"),
        (MUZERO, "--search 1ply", "here: muzero has no 1ply; give --search expectimax --plies 1"),
        (MUZERO, "--search expectimax --simulations 5", "here: --simulations 5 is of a tree search; leave it out"),
        (MUZERO, "--search expectimax --plies 5", "override search.plies=5: search.plies is 5; give 1 to 4"),
        (DEEP_TD, "--search expectimax search.model=learned",
         f"here: {HOLDS} a value network, not a learned model; give --model simulator"),
        (TOY, "--search expectimax", "here: toy has no expectimax; give --search gumbel or puct"),
        (NTUPLE, "--simulations 9", f"here: 1ply has no settings; {OTHER_SEARCHES.format('--simulations 9')}"),
        (NTUPLE, "--search 1ply --value ntuple search.chance=ratio",
         f"here: 1ply has no settings; {OTHER_SEARCHES.format('--value ntuple search.chance=ratio')}"),
        (DEEP_TD, "--search gumbel --model learned",
         f"here: {HOLDS} a value network, not a learned model; give --model simulator"),
        (TOY, "--search puct", "here: toy has no tree search; leave out --search puct"),
        (TOY, "--value network", "here: 1ply has no settings; leave out --value network"),
        (MUZERO, "search.chanse=ratio",
         "override search.chanse=ratio: there is no key 'search.chanse'; did you mean 'chance'?"),
        (MUZERO, "search.root=ucb",
         "override search.root=ucb: search.root is 'ucb'; give one of: gumbel, puct"),
        (MUZERO, "run.seed=1", "override run.seed=1: only the keys search.key=value can be set here"),
        (MUZERO, "more", "cannot read the override 'more'; give key=value, e.g. search.key=value"),
        (MUZERO, "--simulations 5 search.simulations=6",
         "search.simulations=6: search.simulations is set to 5 by an option too; leave out one of the two"),
        (MUZERO, "search.puct.dirichlet_fraction=2",
         "override search.puct.dirichlet_fraction=2: search.puct.dirichlet_fraction is 2; give a number in [0, 1]"),
        (MUZERO, "--simulations 2000000000",
         "override search.simulations=2000000000: search.simulations is 2000000000; give 1 to 65536"),
        (MUZERO, "search.gumbel.c_scale=nan",
         "override search.gumbel.c_scale=nan: search.gumbel.c_scale is 'nan'; give a number in [0, 1e+09]"),
        (MUZERO, f"{MCTX} {WEIGHTED}",
         f"overrides {MCTX} {WEIGHTED}: search.chance is 'weighted'; give another value, or set search.engine=own"),
    ],
)  # fmt: skip
def test_a_search_that_cannot_be_is_one_line(experiment: Experiment, words: str, line: str):
    with pytest.raises(UserError) as error:
        resolve(experiment, asked(words), HERE)
    assert str(error.value) == line


def test_an_option_without_effect_is_named(capsys):
    words = ("search.range_floor=5", "search.normalization=fixed")
    assert resolve(MUZERO, SearchOptions(overrides=words), HERE).config.range_floor == 5
    line = "warning: search.range_floor = 5.0 has no effect: it needs search.normalization=node|tree\n"
    assert capsys.readouterr().err == line
    resolve(MUZERO, SearchOptions(overrides=words[:1]), HERE)
    assert capsys.readouterr().err == ""
    for experiment in (NTUPLE, DEEP_TD):
        resolve(experiment, SearchOptions("gumbel", overrides=words), HERE)
        assert capsys.readouterr().err == line
        # With any normalization the temperature of the prior.
        resolve(experiment, SearchOptions("gumbel", overrides=("search.value_scale=50",)), HERE)
        assert capsys.readouterr().err == ""
    resolve(NTUPLE, SearchOptions("expectimax", overrides=("search.downgrade_repeats=true",)), HERE)
    assert capsys.readouterr().err == (
        "warning: search.downgrade_repeats = True has no effect: it needs search.downgrade!=[]\n"
    )


def _evaluate(capsys, *words: str) -> dict:
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("launch.cli.json_alone", nullcontext)  # the text is printed too
        assert main(["evaluate", "runs/one", "--games", "30", "--json", *words]) == 0
    output = capsys.readouterr().out.splitlines()
    result = json.loads(output[-1])
    assert f", {result['search']}) after " in output[0]
    seed = final_evaluation_seed(result["training_seed"])
    stem = f"{result['env_steps']}-{result['search']}-30games-seed{seed}"
    kept = Path("runs/one/evaluations", f"{stem}.json")
    assert json.loads(kept.read_text()) == result
    return result


NTUPLE_YAML = """\
learner: ntuple
run: {name: one, group: g, final_games: 30}
ntuple: {rows: 2, columns: 2, network: "0123", env_steps: 20_000, report_env_steps: 20_000, threads: 1, v_init: 60}
"""


def test_searches_of_one_batch_on_an_ntuple_checkpoint(capsys, mistake):
    Path("ntuple.yaml").write_text(NTUPLE_YAML)
    assert main(["train", "ntuple.yaml"]) == 0
    (file,) = Path("runs/one/evaluations").iterdir()
    after_training = json.loads(file.read_text())
    one_ply = _evaluate(capsys)
    assert one_ply["search"] == "1ply"
    assert "search_config" not in one_ply
    assert one_ply["score_mean"] == after_training["score_mean"]

    shallow = _evaluate(capsys, "--search", "gumbel", "--simulations", "4")
    assert shallow["search"] == "gumbel-n4-simulator-ntuple-considered_actions=4"
    assert shallow["search_config"] == in_json(asdict(SHALLOW))
    assert shallow["score_mean"] > 40  # greedy play has a mean score of 24
    assert len(list(Path("runs/one/evaluations").iterdir())) == 2

    file = Path("runs/one/checkpoints/20000/weights.safetensors")
    file.write_bytes(file.read_bytes()[:-1])
    line = mistake("evaluate runs/one/checkpoints/20000 --search gumbel")
    assert line.startswith("runs/one/checkpoints/20000/weights.safetensors has ")


@pytest.mark.slow
def test_a_tree_search_on_an_ntuple_checkpoint(capsys):
    Path("ntuple.yaml").write_text(NTUPLE_YAML)
    assert main(["train", "ntuple.yaml"]) == 0
    deep = _evaluate(capsys, "search.chance=deficit", "--search", "puct", "search.read_out=mean")
    assert deep["search"] == "puct-n16-simulator-ntuple-chance=deficit-read_out=mean"
    assert deep["search_config"] == in_json(asdict(replace(TREE, root="puct", chance="deficit", read_out="mean")))
    assert deep["score_mean"] > 40  # greedy play has a mean score of 24


@pytest.fixture
def muzero_run() -> Path:
    """Make a run with one checkpoint, saved before any training."""
    from muzero2048.muzero.learner import MuZeroLearner

    experiment = load_experiment(MUZERO_CONFIG, ["run.name=one"])
    folder = Path("runs/one")
    folder.mkdir(parents=True)
    (folder / CONFIG_FILE).write_text(experiment.to_yaml())
    learner = MuZeroLearner(experiment.settings, seed=0)
    save_checkpoint(folder, learner, experiment, State("muzero", learner.progress, 0.0, 0, "0"), Processes())
    return folder


@pytest.mark.filterwarnings("ignore:Sharding info not provided")  # the machine that wrote the file reads it
def test_the_own_search_of_a_muzero_checkpoint(muzero_run: Path, capsys):
    own = _evaluate(capsys)
    assert own["search"] == "gumbel-n8"
    assert own["search_config"] == in_json(asdict(load_experiment(muzero_run).settings.search))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sharding info not provided")
def test_any_search_on_a_muzero_checkpoint(muzero_run: Path, capsys, mistake):
    own = _evaluate(capsys)
    assert _evaluate(capsys, "--search", "gumbel", "--value", "network")["search"] == "gumbel-n8"
    other = _evaluate(capsys, "--search", "puct", "--simulations", "3", "--model", "simulator", "search.chance=ratio")
    assert other["search"] == "puct-n3-simulator-chance=ratio"
    assert other["search_config"]["model"] == "simulator"
    assert other["score_mean"] != own["score_mean"]
    deeper = _evaluate(capsys, "--search", "expectimax", "--model", "simulator")
    assert deeper["search"] == "expectimax-p2-simulator"
    assert deeper["search_config"] == {"plies": 2, "model": "simulator", "least_prior": 0.0, "views": 1}
    assert len(list((muzero_run / "evaluations").iterdir())) == 3
    assert "muzero has no 1ply" in mistake("evaluate runs/one --search 1ply")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sharding info not provided")
def test_muzero_gives_records_and_moves_too(muzero_run: Path, last_json):
    assert main(["evaluate", "runs/one", "--games", "3", "--simulations", "4", "--records", "games.txt"]) == 0
    assert main(["judge", "games.txt", "--whole"]) == 0
    settings = load_experiment(muzero_run).settings
    position = " / ".join(" ".join(["2", "4", "8", "16"][: settings.columns]) for _ in range(settings.rows - 1))
    position += " / " + " ".join(["0"] * settings.columns)
    told = last_json("moves", "runs/one", "--position", position, "--simulations", "4")
    assert told["moves"][told["action"]]["visits"] > 0
    assert sum(move["visits"] for move in told["moves"].values()) <= 4
