"""The search that an evaluation plays with: what the user asks for, what the checkpoint can serve, and its name.

A search is 1ply, the best of the four moves by the learner's own values; expectimax (ntuple/expectimax/search.py)
with an ExpectimaxConfig; or a tree search (muzero2048/search) with a SearchConfig. JAX is loaded for the last alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from launch.config.experiment import Experiment, override_settings
from launch.errors import UserError
from launch.learners import registry
from ntuple.learner_spec import EXPECTIMAX, ONE_PLY, TREE, LearnerSpec

# Of a tree search in the game itself over values alone, for learners whose config names no search. The prior is a look
# at the same values one move ahead, so what the search finds must be able to outweigh it (c_scale); measured for
# n-tuple networks in docs/results.md.
VALUE_SEARCH = {
    "model": "simulator",
    "simulations": 16,
    "considered_actions": 2,
    "c_scale": 1.0,
    "chance": "weighted",
    "read_out": "expectimax",
}
HOLDS = {"learned": "a learned model", "network": "a value network", "ntuple": "an n-tuple network"}
PLACE = "options of the search"  # in messages
LONGEST_NAME = 160  # it is part of a file's name; of a longer one the end becomes a digest
NAMED = {"root", "simulations", "model"}  # fields that every name tells
# Fields of the noise in self-play, which evaluation plays without.
NOISE = {"gumbel_scale", "dirichlet_fraction", "dirichlet_alpha"}


@dataclass(frozen=True)
class Options:
    """What the command line says of the search; None and () where it says nothing."""

    search: str | None = None  # 1ply, expectimax, or the rule at the root of a tree: gumbel, puct
    simulations: int | None = None
    model: str | None = None  # learned, simulator
    value: str | None = None  # network, ntuple
    overrides: Sequence[str] = ()  # "search.field=value"
    plies: int | None = None  # of expectimax

    def words(self) -> list[str]:
        """All of it as the user wrote it."""
        named = {"search": self.search, "simulations": self.simulations, "plies": self.plies}
        named |= {"model": self.model, "value": self.value}
        return [*(f"--{name} {value}" for name, value in named.items() if value is not None), *self.overrides]

    def assignments(self) -> list[str]:
        """The settings of a search as overrides; UserError if one is set twice."""
        named = {"search.simulations": self.simulations, "search.plies": self.plies, "search.model": self.model}
        if self.search != EXPECTIMAX:
            named["search.root"] = self.search
        set_by_option = [f"{key}={value}" for key, value in named.items() if value is not None]
        for word in self.overrides:
            key = word.partition("=")[0]
            if named.get(key) is not None:
                raise UserError(f"{word}: {key} is set to {named[key]} by an option too; leave out one of the two")
        return [*set_by_option, *self.overrides]


@dataclass(frozen=True)
class Search:
    """How moves are chosen in an evaluation."""

    name: str  # in results and names of files; another for every setting that can change a move
    config: Any  # SearchConfig of a tree search, ExpectimaxConfig; None: 1ply
    player: str = TREE  # kind of search: key of LearnerSpec.players

    def record(self) -> dict[str, Any]:
        """What a result says of it."""
        return {"search": self.name} | ({"search_config": asdict(self.config)} if self.config else {})


def resolve(experiment: Experiment, options: Options, place: Path) -> Search:
    """The search to play with: by default the learner's own, 1ply or the one of its config.

    Args:
        experiment: of the checkpoint.
        options: what the user asks for.
        place: the checkpoint, for messages.

    Raises:
        UserError: the checkpoint cannot serve the options; the line says why and how to mend it.
    """
    able = registry.spec_of(experiment.learner)
    if options.search == EXPECTIMAX:
        if EXPECTIMAX not in able.players:
            raise UserError(f"{place}: {experiment.learner} has no expectimax; give --search gumbel or puct")
        if given := [word for word in options.overrides if word.startswith("search.heuristic")]:
            raise UserError(f"{place}: a network values its boards; leave out {' '.join(given)}")
        return expectimax(options, place)
    if options.plies is not None:
        raise UserError(f"{place}: --plies {options.plies} is of expectimax; add --search {EXPECTIMAX}")
    if TREE in able.players:
        _check_holds(able, options.value, (able.value,), f"--value {able.value}", place)
        _check_holds(able, options.model, able.models, f"--model {able.models[-1]}", place)
    if options.search == ONE_PLY and ONE_PLY not in able.players:
        raise UserError(f"{place}: {experiment.learner} plays by tree search alone; give --search gumbel or puct")
    if options.search == ONE_PLY or (options.search is None and ONE_PLY in able.players):
        return _one_ply(able, options, place)
    if TREE not in able.players:
        raise UserError(f"{place}: {experiment.learner} has no tree search; leave out {' '.join(options.words())}")
    config = override_settings("search", _base(able, experiment, options), options.assignments(), PLACE)
    _check_holds(able, config.model, able.models, f"--model {able.models[-1]}", place)
    return Search(tree_name(config, able), config)


def expectimax(options: Options, place: Path | str) -> Search:
    """The expectimax search of the options; with a time limit it deepens as far as it gets, unless they say how far.

    Raises:
        UserError: the options are not of expectimax.
    """
    for name, value in (("simulations", options.simulations), ("model", options.model), ("value", options.value)):
        if value is not None:
            raise UserError(f"{place}: --{name} {value} is of a tree search; leave it out")
    kind = registry.expectimax_config()
    config = override_settings("search", kind(), options.assignments(), PLACE)
    if config.seconds > 0 and not any("search.plies=" in word for word in options.assignments()):
        config = replace(config, plies=kind.MOST_PLIES)
    default, words = kind(), [EXPECTIMAX, f"p{config.plies}"]
    for name in (field.name for field in fields(config)):
        value = getattr(config, name)
        if name not in ("plies", "heuristic") and value != getattr(default, name):
            words.append(f"{name}={value}".replace(" ", ",").replace(":", "_"))
    if config.heuristic != default.heuristic:
        words.append(f"heuristic={hashlib.sha256(repr(config.heuristic).encode()).hexdigest()[:8]}")
    return Search(_shortened("-".join(words)), config, EXPECTIMAX)


def tree_name(config: Any, able: LearnerSpec) -> str:
    """Such as gumbel-n16-simulator-ntuple-chance=weighted: rule at the root, simulations, and what is no default."""
    default = type(config)() if able.has_search_settings else type(config)(**VALUE_SEARCH)
    words = [config.root, f"n{config.simulations}"]
    words += ["simulator"] if config.model == "simulator" else []
    words += [able.value] if able.value != "network" else []
    for name in (field.name for field in fields(config)):
        if name not in NAMED | NOISE and getattr(config, name) != getattr(default, name):
            words.append(f"{name}={getattr(config, name)}")
    return _shortened("-".join(words))


def _shortened(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{name[: LONGEST_NAME - len(digest) - 1]}-{digest}"


def _one_ply(able: LearnerSpec, options: Options, place: Path) -> Search:
    settings = [word for word in options.words() if word != f"--search {ONE_PLY}"]
    if settings:
        mend = " or give --search gumbel or puct" if TREE in able.players else ""
        raise UserError(f"{place}: 1ply has no settings; leave out {' '.join(settings)}{mend}")
    return Search(ONE_PLY, None, ONE_PLY)


def _base(able: LearnerSpec, experiment: Experiment, options: Options) -> Any:
    """The SearchConfig that options change."""
    if not able.has_search_settings:
        config = registry.search_config()(**VALUE_SEARCH)
        asked = override_settings("search", config, options.assignments(), PLACE)
        # So few go to every move once, as 1ply does: two moves and an outcome of each are worse (87,000 to 103,000).
        return replace(config, considered_actions=4) if asked.simulations <= 4 else config
    settings: Any = experiment.settings
    return settings.search


def _check_holds(able: LearnerSpec, asked: str | None, there: tuple[str, ...], mend: str, place: Path) -> None:
    if asked is not None and asked not in there:
        raise UserError(f"{place}: the checkpoint holds {HOLDS[able.value]}, not {HOLDS[asked]}; give {mend}")
