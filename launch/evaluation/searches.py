"""The search of an evaluation: the check that the checkpoint can serve the options of the user, its config and name.

| search | chooses a move by | config |
|---|---|---|
| 1ply | the learner's own values after each of the four moves | none |
| expectimax | ntuple/expectimax/search.py | ExpectimaxConfig |
| mcts | ntuple/mcts/search.py | MCTSConfig |
| expectimax, for a network | muzero2048/search/expectimax.py | NetworkExpectimaxConfig |
| tree search | muzero2048/search | SearchConfig |

JAX is imported only for a tree search and for networks.
"""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from launch.errors import Option, OptionError, UserError
from launch.evaluation.result import FOLDER, read_result
from launch.evaluation.search_options import SearchChoice, SearchOptions
from launch.experiment import checkpoints, registry
from launch.experiment.experiment import Experiment, override_settings
from launch.files import in_json
from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE, LearnerSpec
from ntuple.core.settings import keys_of

HOLDS = {"learned": "a learned model", "network": "a value network", "ntuple": "an n-tuple network"}
PLACE = "options of the search"  # label used in error messages
LONGEST_NAME = 160  # characters; the name is part of a file name. The end of a longer name is replaced by a digest.
NAMED = {"root", "simulations", "model"}  # fields that `tree_name` writes in a form of their own
# Fields for the noise in self-play. Evaluation uses no noise, so names leave them out.
NOISE = {"gumbel_scale", "puct.dirichlet_fraction", "puct.dirichlet_alpha", "puct.temperature_steps"}
OF_A_TREE = " is of a tree search; leave it out"


def resolve(experiment: Experiment, options: SearchOptions, place: Path) -> SearchChoice:
    """Return the search that the options select; the default is 1ply or the search of the learner's config.

    UserError says why the checkpoint `place` cannot serve the options, and what to give.
    """
    spec = registry.spec_of(experiment.learner)
    if options.search != MCTS:
        _refuse(options, place, ("strength",), " is of mcts; add ", Option("search", MCTS))
    if options.search in (EXPECTIMAX, MCTS) and options.search not in spec.players:
        lacks = "mcts searches over n-tuple values"
        if options.search == EXPECTIMAX:
            lacks = f"{experiment.learner} has no expectimax"
        raise OptionError(f"{place}: {lacks}; give ", Option("search"), " gumbel or puct")
    if options.search == EXPECTIMAX:
        if given := [word for word in options.overrides if word.startswith("search.heuristic")]:
            raise UserError(f"{place}: a network values its boards; leave out {' '.join(given)}")
        if spec.value == "network":
            return _network_expectimax(spec, experiment, options, place)
        return expectimax(options, place)
    _refuse(options, place, ("plies",), " is of expectimax; add ", Option("search", EXPECTIMAX))
    if options.search == MCTS:
        return _mcts(options, place)
    if TREE in spec.players:
        _check_values(spec, options, place)
    if options.search == ONE_PLY and ONE_PLY not in spec.players:
        remedy = (Option("search", EXPECTIMAX), " ", Option("plies", 1))
        raise OptionError(f"{place}: {experiment.learner} has no 1ply; give ", *remedy)
    if options.search == ONE_PLY or (options.search is None and ONE_PLY in spec.players):
        return _one_ply(spec, options, place)
    if TREE not in spec.players:
        raise OptionError(f"{place}: {experiment.learner} has no tree search; leave out ", *options.in_message())
    config = _tree_config(spec, experiment, options)
    _check_holds(spec, config.model, spec.models, Option("model", spec.models[-1]), place)
    return SearchChoice(tree_name(config, spec), config)


def expectimax(options: SearchOptions, place: Path | str) -> SearchChoice:
    """Return the expectimax search of the options; UserError if an option is not one of expectimax.

    With a time limit and no given depth, the search deepens until the time is over (depth limit MOST_PLIES).
    """
    _refuse(options, place, ("simulations", "model", "value"), OF_A_TREE)
    kind = registry.expectimax_config()
    config = override_settings("search", kind(), options.assignments(), PLACE)
    config = _while_time_is_left(config, options, "plies", kind.MOST_PLIES)
    parts, default = _changed(config, kind()), kind()
    parts = {key: part for key, part in parts.items() if key != "plies" and not key.startswith("heuristic.")}
    if config.heuristic != default.heuristic:
        parts["heuristic"] = f"heuristic={_digest(config.heuristic)}"
    return SearchChoice(short_name(EXPECTIMAX, f"p{config.plies}", *parts.values()), config, EXPECTIMAX)


def _mcts(options: SearchOptions, place: Path) -> SearchChoice:
    """Return the Monte Carlo tree search of the options.

    With a time limit and no given number, the simulations go on until the time is over (at most MOST_SIMULATIONS).
    """
    remedy = " is of a search in JAX; leave it out, or give "
    _refuse(options, place, ("model", "value"), remedy, Option("search", "gumbel"))
    kind = registry.mcts_config()
    base = kind() if options.strength is None else kind(choice="drawn")
    config = override_settings("search", base, options.assignments(), PLACE)
    config = _while_time_is_left(config, options, "simulations", kind.MOST_SIMULATIONS)
    if options.strength is not None:
        config = _with_strength(config, options.strength, place)
    parts = [part for key, part in _changed(config, kind()).items() if key != "simulations"]
    return SearchChoice(short_name(MCTS, f"n{config.simulations}", *parts), config, MCTS)


def _with_strength(config: Any, score: float, checkpoint: Path) -> Any:
    """Return a search config, with `choice = drawn`, with the strength index z of a wanted mean score in points.

    An evaluation with `choice = drawn` measures the mean score of one z. Between the z that the evaluations of the run
    folder measured the score is interpolated linearly. Isotonic regression makes the scores rise with z first.
    UserError if fewer than two z are measured with these settings, or the score is not between theirs.
    """
    z, scores = _measured(config, checkpoint)
    asked = Option("strength", score)
    remedy = f"measure more: muzero2048 evaluate {checkpoint} ... search.choice=drawn search.z=Z, for several Z"
    if len(z) < 2:
        raise OptionError(asked, f": {len(z)} values of z are measured with these settings; {remedy}")
    if not scores[0] <= score <= scores[-1]:
        ends = f"{scores[0]:,.0f} (z = {z[0]:g}) and {scores[-1]:,.0f} (z = {z[-1]:g})"
        raise OptionError(asked, f" is not between the measured {ends}; {remedy}")
    return replace(config, z=round(float(np.interp(score, scores, z)), 3))


def _measured(config: Any, checkpoint: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the measured z in ascending order, and their mean scores made to rise."""
    from scipy.optimize import isotonic_regression  # takes a quarter of the start of a command

    run_folder = checkpoints.run_folder_of(checkpoint)
    _, state = checkpoints.read_checkpoint(checkpoint)
    wanted = in_json(asdict(config))
    sums: dict[float, list[float]] = {}  # z: games, points
    for file in sorted((run_folder / FOLDER).glob("*.json")) if run_folder else []:
        result = read_result(file, ("env_steps", "games", "score_mean"))
        setting = result.get("search_config", {})
        # Where there is `against`, an adversary placed the tiles.
        is_alike = "z" in setting and setting | {"z": config.z} == wanted and "against" not in result
        if is_alike and result["env_steps"] == state.progress["env_steps"]:
            known = sums.setdefault(setting["z"], [0.0, 0.0])
            known[0] += result["games"]
            known[1] += result["games"] * result["score_mean"]
    z = np.array(sorted(sums))
    games, points = (np.array([sums[index][i] for index in z]) for i in (0, 1))
    return z, isotonic_regression(points / games, weights=games).x if len(z) else games


def _while_time_is_left(config: Any, options: SearchOptions, key: str, most: int) -> Any:
    """Return the config with the largest value of `key` if there is a time limit and the options do not set the key."""
    is_given = any(f"search.{key}=" in word for word in options.assignments())
    return replace(config, **{key: most}) if config.seconds > 0 and not is_given else config


def _network_expectimax(spec: LearnerSpec, experiment: Experiment, options: SearchOptions, place: Path) -> SearchChoice:
    """Return the expectimax search in the model of a network; by default in the model of the learner's config."""
    _refuse(options, place, ("simulations",), OF_A_TREE)
    _check_values(spec, options, place)
    settings: Any = experiment.settings
    kind = registry.network_expectimax_config()
    base = kind(model=settings.search.model if spec.has_search_settings else spec.models[0])
    config = override_settings("search", base, options.assignments(), PLACE)
    _check_holds(spec, config.model, spec.models, Option("model", spec.models[-1]), place)
    model = ["simulator"] if config.model == "simulator" else []
    parts = [part for key, part in _changed(config, kind()).items() if key not in {"plies", "model"}]
    return SearchChoice(short_name(EXPECTIMAX, f"p{config.plies}", *model, *parts), config, EXPECTIMAX)


def _one_ply(spec: LearnerSpec, options: SearchOptions, place: Path) -> SearchChoice:
    settings = replace(options, search=None).in_message()
    if settings:
        searches = [name for name in (EXPECTIMAX, MCTS) if name in spec.players]
        searches += ["gumbel or puct"] if TREE in spec.players else []
        remedy = (" or give ", Option("search"), f" {', '.join(searches)}") if searches else ()
        raise OptionError(f"{place}: 1ply has no settings; leave out ", *settings, *remedy)
    return SearchChoice(ONE_PLY, None, ONE_PLY)


def _tree_config(spec: LearnerSpec, experiment: Experiment, options: SearchOptions) -> Any:
    """Return the SearchConfig of the options over the search of the training, or over `value_search`."""
    settings: Any = experiment.settings
    base = settings.search if spec.has_search_settings else value_search()
    config = override_settings("search", base, options.assignments(), PLACE)
    is_given = any("considered_actions" in word for word in options.overrides)
    if spec.has_search_settings or config.simulations > 4 or is_given:
        return config
    # With at most 4 simulations every move is visited once, in one batch, as in 1ply. A tree over two moves plays
    # alike (docs/results/search.md) and takes longer.
    return replace(config, gumbel=replace(config.gumbel, considered_actions=4))


def tree_name(config: Any, spec: LearnerSpec) -> str:
    """Return a name: root rule, simulations, and settings that are not default.

    An example is gumbel-n16-simulator-ntuple-chance=weighted.
    """
    default = type(config)() if spec.has_search_settings else value_search()
    parts = ["simulator"] if config.model == "simulator" else []
    parts += [spec.value] if spec.value != "network" else []
    parts += [part for key, part in _changed(config, default).items() if key not in NAMED | NOISE]
    return short_name(config.root, f"n{config.simulations}", *parts)


def value_search() -> Any:
    """Return the tree search for learners whose config has no search: in the simulator, with a value function only.

    The prior is computed from the same values by a 1-ply look-ahead. c_scale is large enough that the Q-values of the
    search can outweigh this prior. docs/results/search.md has the measurements for n-tuple networks.
    """
    config = registry.search_config()()
    gumbel = replace(config.gumbel, considered_actions=2, c_scale=1.0)
    return replace(config, model="simulator", simulations=16, chance="weighted", read_out="expectimax", gumbel=gumbel)


def _changed(config: Any, default: Any) -> dict[str, str]:
    """Return the keys in which two searches differ, each with "name=value" for names of files."""
    parts = {}
    for key in keys_of(type(config)):
        value, usual = (functools.reduce(getattr, key.name.split("."), search) for search in (config, default))
        if value != usual:
            parts[key.name] = f"{key.name.rpartition('.')[2]}={_in_a_name(value)}"
    return parts


def _in_a_name(value: Any) -> str:
    """Return a value as a part of a file's name; a list of pairs is 6_2,10_1.

    Of files only their number and a digest of their names without folders: a result does not depend on where they are.
    """
    if not isinstance(value, tuple):
        return str(value)
    if value and all(isinstance(item, str) for item in value):
        return f"{len(value)}-{_digest([Path(file).name for file in value])}"
    return ",".join("_".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value)


def _digest(value: Any) -> str:
    """Return eight hex digits that stand for a value in a name."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:8]


def short_name(*parts: str) -> str:
    """Join the parts of a name, at most LONGEST_NAME characters."""
    name = "-".join(parts)
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{name[: LONGEST_NAME - len(digest) - 1]}-{digest}"


def _refuse(options: SearchOptions, place: Path | str, names: Sequence[str], *why: str | Option) -> None:
    """Refuse the options of these names, if they are given."""
    for name in names:
        if (value := getattr(options, name)) is not None:
            raise OptionError(f"{place}: ", Option(name, value), *why)


def _check_values(spec: LearnerSpec, options: SearchOptions, place: Path) -> None:
    _check_holds(spec, options.value, (spec.value,), Option("value", spec.value), place)
    _check_holds(spec, options.model, spec.models, Option("model", spec.models[-1]), place)


def _check_holds(spec: LearnerSpec, asked: str | None, held: Sequence[str], remedy: Option, place: Path) -> None:
    if asked is not None and asked not in held:
        raise OptionError(f"{place}: the checkpoint holds {HOLDS[spec.value]}, not {HOLDS[asked]}; give ", remedy)
