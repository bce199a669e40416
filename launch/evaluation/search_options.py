"""The search of an evaluation: the options of the user, the check that the checkpoint can serve them, and its name.

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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from launch.errors import Option, OptionError, UserError
from launch.evaluation.search_words import MODELS, SEARCHES, VALUES
from launch.evaluation.strength import with_strength
from launch.experiment import registry
from launch.experiment.experiment import Experiment, override_settings
from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE, LearnerSpec
from ntuple.core.settings import keys_of

HOLDS = {"learned": "a learned model", "network": "a value network", "ntuple": "an n-tuple network"}
PLACE = "options of the search"  # label used in error messages
_TREES = (Option("search"), " gumbel or puct")  # in messages
LONGEST_NAME = 160  # characters; the name is part of a file name. The end of a longer name is replaced by a digest.
NAMED = {"root", "simulations", "model"}  # fields that `tree_name` writes in a form of their own
# Fields for the noise in self-play. Evaluation uses no noise, so names leave them out.
NOISE = {"gumbel_scale", "puct.dirichlet_fraction", "puct.dirichlet_alpha", "puct.temperature_steps"}


@dataclass(frozen=True)
class Options:
    """Search options of a command or of a call from Python; None and () for options that are not given."""

    search: str | None = None  # 1ply, expectimax, mcts, or the root rule of a tree search: gumbel, puct
    simulations: int | None = None
    model: str | None = None  # learned, simulator
    value: str | None = None  # network, ntuple
    overrides: Sequence[str] = ()  # "search.field=value"
    plies: int | None = None  # depth of expectimax
    strength: float | None = None  # wanted mean score of mcts, points

    def __post_init__(self) -> None:
        """Refuse a word that no search has."""
        for name, value, known in (
            ("search", self.search, SEARCHES),
            ("model", self.model, MODELS),
            ("value", self.value, VALUES),
        ):
            if value is not None and value not in known:
                raise OptionError(Option(name), f" is {value}; give one of: {', '.join(known)}")

    def words(self) -> list[str]:
        """Return all given options as words of the command line."""
        given = [(f"--{one.name}", str(one.value)) for one in self._given()]
        return [*(word for pair in given for word in pair), *self.overrides]

    def in_message(self) -> list[Option | str]:
        """Return all given options as parts of a message, with blanks between them."""
        given: list[Option | str] = [*self._given(), *self.overrides]
        spaced: list[Option | str] = []
        for one in given:
            spaced += [" ", one]
        return spaced[1:]

    def _given(self) -> list[Option]:
        names = ("search", "simulations", "plies", "model", "value", "strength")
        return [Option(name, value) for name in names if (value := getattr(self, name)) is not None]

    def assignments(self) -> list[str]:
        """Return the options as overrides of a search config; UserError if a key is set twice."""
        named = {"search.simulations": self.simulations, "search.plies": self.plies, "search.model": self.model}
        if self.search not in (EXPECTIMAX, MCTS):
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

    name: str  # in results and file names; differs for every setting that can change a move
    config: Any  # SearchConfig, MCTSConfig, ExpectimaxConfig, NetworkExpectimaxConfig, or None for 1ply
    player: str = TREE  # kind of search: key of LearnerSpec.players

    def record(self) -> dict[str, Any]:
        """Return the search as entries of a result file."""
        return {"search": self.name} | ({"search_config": asdict(self.config)} if self.config else {})


def resolve(experiment: Experiment, options: Options, place: Path) -> Search:
    """Return the search that the options select; the default is 1ply or the search of the learner's config.

    UserError says why the checkpoint `place` cannot serve the options, and what to give.
    """
    able = registry.spec_of(experiment.learner)
    if options.strength is not None and options.search != MCTS:
        raise OptionError(
            f"{place}: ", Option("strength", options.strength), " is of mcts; add ", Option("search", MCTS)
        )
    if options.search == EXPECTIMAX:
        if EXPECTIMAX not in able.players:
            raise OptionError(f"{place}: {experiment.learner} has no expectimax; give ", *_TREES)
        if given := [word for word in options.overrides if word.startswith("search.heuristic")]:
            raise UserError(f"{place}: a network values its boards; leave out {' '.join(given)}")
        if able.value == "network":
            return _network_expectimax(able, experiment, options, place)
        return expectimax(options, place)
    if options.plies is not None:
        raise OptionError(
            f"{place}: ", Option("plies", options.plies), " is of expectimax; add ", Option("search", EXPECTIMAX)
        )
    if options.search == MCTS:
        if MCTS not in able.players:
            raise OptionError(f"{place}: mcts searches over n-tuple values; give ", *_TREES)
        return _mcts(options, place)
    if TREE in able.players:
        _check_values(able, options, place)
    if options.search == ONE_PLY and ONE_PLY not in able.players:
        mend = (Option("search", EXPECTIMAX), " ", Option("plies", 1))
        raise OptionError(f"{place}: {experiment.learner} has no 1ply; give ", *mend)
    if options.search == ONE_PLY or (options.search is None and ONE_PLY in able.players):
        return _one_ply(able, options, place)
    if TREE not in able.players:
        raise OptionError(f"{place}: {experiment.learner} has no tree search; leave out ", *options.in_message())
    config = override_settings("search", _base(able, experiment, options), options.assignments(), PLACE)
    _check_model(able, config.model, place)
    return Search(tree_name(config, able), config)


def expectimax(options: Options, place: Path | str) -> Search:
    """Return the expectimax search of the options.

    With a time limit and no given depth, the search deepens until the time is over (depth limit MOST_PLIES).
    """
    for name, value in (("simulations", options.simulations), ("model", options.model), ("value", options.value)):
        if value is not None:
            raise OptionError(f"{place}: ", Option(name, value), " is of a tree search; leave it out")
    kind = registry.expectimax_config()
    config = override_settings("search", kind(), options.assignments(), PLACE)
    config = _while_time_is_left(config, options, "plies", kind.MOST_PLIES)
    default, words = kind(), [EXPECTIMAX, f"p{config.plies}"]
    words += [word for key, word in _changed(config, default) if key != "plies" and not key.startswith("heuristic.")]
    if config.heuristic != default.heuristic:
        words.append(f"heuristic={hashlib.sha256(repr(config.heuristic).encode()).hexdigest()[:8]}")
    return Search(_shortened("-".join(words)), config, EXPECTIMAX)


def _mcts(options: Options, place: Path) -> Search:
    """Return the Monte Carlo tree search of the options.

    With a time limit and no given number, the simulations go on until the time is over (at most MOST_SIMULATIONS).
    """
    for name, value in (("model", options.model), ("value", options.value)):
        if value is not None:
            mend = " is of a search in JAX; leave it out, or give "
            raise OptionError(f"{place}: ", Option(name, value), mend, Option("search", "gumbel"))
    kind = registry.mcts_config()
    base = kind() if options.strength is None else kind(choice="drawn")
    config = override_settings("search", base, options.assignments(), PLACE)
    config = _while_time_is_left(config, options, "simulations", kind.MOST_SIMULATIONS)
    if options.strength is not None:
        config = with_strength(config, options.strength, place)
    words = [word for key, word in _changed(config, kind()) if key != "simulations"]
    return Search(_shortened("-".join([MCTS, f"n{config.simulations}", *words])), config, MCTS)


def _while_time_is_left(config: Any, options: Options, key: str, most: int) -> Any:
    """Return the config with the largest value of `key` if there is a time limit and the options do not set the key."""
    is_given = any(f"search.{key}=" in word for word in options.assignments())
    return replace(config, **{key: most}) if config.seconds > 0 and not is_given else config


def _network_expectimax(able: LearnerSpec, experiment: Experiment, options: Options, place: Path) -> Search:
    """Return the expectimax search in the model of a network; by default in the model of the learner's config."""
    if options.simulations is not None:
        given = Option("simulations", options.simulations)
        raise OptionError(f"{place}: ", given, " is of a tree search; leave it out")
    _check_values(able, options, place)
    settings: Any = experiment.settings
    kind = registry.network_expectimax_config()
    base = kind(model=settings.search.model if able.has_search_settings else able.models[0])
    config = override_settings("search", base, options.assignments(), PLACE)
    _check_model(able, config.model, place)
    words = [EXPECTIMAX, f"p{config.plies}", *(["simulator"] if config.model == "simulator" else [])]
    words += [word for key, word in _changed(config, kind()) if key not in {"plies", "model"}]
    return Search(_shortened("-".join(words)), config, EXPECTIMAX)


def tree_name(config: Any, able: LearnerSpec) -> str:
    """Return a name: root rule, simulations, and settings that are not default.

    An example is gumbel-n16-simulator-ntuple-chance=weighted.
    """
    default = type(config)() if able.has_search_settings else value_search()
    words = [config.root, f"n{config.simulations}"]
    words += ["simulator"] if config.model == "simulator" else []
    words += [able.value] if able.value != "network" else []
    words += [word for key, word in _changed(config, default) if key not in NAMED | NOISE]
    return _shortened("-".join(words))


def value_search() -> Any:
    """Return the tree search for learners whose config has no search: in the simulator, with a value function only.

    The prior is computed from the same values by a 1-ply look-ahead. c_scale is large enough that the Q-values of the
    search can outweigh this prior. docs/results/search.md has the measurements for n-tuple networks.
    """
    config = registry.search_config()()
    gumbel = replace(config.gumbel, considered_actions=2, c_scale=1.0)
    return replace(config, model="simulator", simulations=16, chance="weighted", read_out="expectimax", gumbel=gumbel)


def _changed(config: Any, default: Any) -> list[tuple[str, str]]:
    """The keys in which two searches differ, each with "name=value" for names of files."""
    found = []
    for key in keys_of(type(config)):
        value, usual = (functools.reduce(getattr, key.name.split("."), one) for one in (config, default))
        if value != usual:
            found.append((key.name, f"{key.name.rpartition('.')[2]}={_in_a_name(value)}"))
    return found


def _in_a_name(value: Any) -> str:
    """A value as a part of a file's name; a list of pairs is 6_2,10_1."""
    if not isinstance(value, tuple):
        return str(value)
    return ",".join("_".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)


def _shortened(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return f"{name[: LONGEST_NAME - len(digest) - 1]}-{digest}"


def _one_ply(able: LearnerSpec, options: Options, place: Path) -> Search:
    settings = replace(options, search=None).in_message()
    if settings:
        searches = [*([MCTS] if MCTS in able.players else []), *(["gumbel or puct"] if TREE in able.players else [])]
        mend = (" or give ", Option("search"), f" {', '.join(searches)}") if searches else ()
        raise OptionError(f"{place}: 1ply has no settings; leave out ", *settings, *mend)
    return Search(ONE_PLY, None, ONE_PLY)


def _base(able: LearnerSpec, experiment: Experiment, options: Options) -> Any:
    """Return the SearchConfig that the options override."""
    if not able.has_search_settings:
        config = value_search()
        asked = override_settings("search", config, options.assignments(), PLACE)
        if asked.simulations > 4:
            return config
        # With at most 4 simulations every move is visited once, in one batch, as in 1ply. A tree over two moves plays
        # alike (docs/results/search.md) and takes longer.
        return replace(config, gumbel=replace(config.gumbel, considered_actions=4))
    settings: Any = experiment.settings
    return settings.search


def _check_values(able: LearnerSpec, options: Options, place: Path) -> None:
    _check_holds(able, options.value, (able.value,), Option("value", able.value), place)
    _check_model(able, options.model, place)


def _check_model(able: LearnerSpec, model: str | None, place: Path) -> None:
    _check_holds(able, model, able.models, Option("model", able.models[-1]), place)


def _check_holds(able: LearnerSpec, asked: str | None, there: tuple[str, ...], mend: Option, place: Path) -> None:
    if asked is not None and asked not in there:
        raise OptionError(f"{place}: the checkpoint holds {HOLDS[able.value]}, not {HOLDS[asked]}; give ", mend)
