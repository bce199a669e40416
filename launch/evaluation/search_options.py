"""What the user asks of a search, and the search that is chosen; launch/evaluation/searches.py chooses it.

The parser of the command line reads this file, so it imports no learner.
"""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from launch.errors import Option, OptionError, UserError
from ntuple.core.learner_spec import EXPECTIMAX, MCTS, ONE_PLY, TREE

SEARCHES = (ONE_PLY, EXPECTIMAX, MCTS, "gumbel", "puct")
MODELS = ("learned", "simulator")
VALUES = ("network", "ntuple")
HEURISTIC = "heuristic"  # a player: expectimax with a heuristic leaf value, without training


@dataclass(frozen=True)
class SearchOptions:
    """Search options of a command or of a call from Python; None and () for options that are not given."""

    search: str | None = None  # 1ply, expectimax, mcts, or the root rule of a tree search: gumbel, puct
    simulations: int | None = None
    model: str | None = None  # learned, simulator
    value: str | None = None  # network, ntuple
    overrides: tuple[str, ...] = ()  # "search.field=value"
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

    def over(self, other: "SearchOptions") -> "SearchOptions":
        """Return `other` with the options that are given here in place of its own; overrides are added."""
        given = {option.name: getattr(self, option.name) for option in self._given()}
        return replace(other, **given, overrides=(*other.overrides, *self.overrides))

    def arguments(self) -> list[str]:
        """Return all given options as arguments of a command."""
        given = [(f"--{option.name}", str(option.value)) for option in self._given()]
        return [*(argument for pair in given for argument in pair), *self.overrides]

    def in_message(self) -> list[Option | str]:
        """Return all given options as parts of a message, with blanks between them."""
        given: list[Option | str] = [*self._given(), *self.overrides]
        return [part for option in given for part in (" ", option)][1:]

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
class SearchChoice:
    """How moves are chosen in an evaluation."""

    name: str  # in results and file names; differs for every setting that can change a move
    config: Any  # SearchConfig, MCTSConfig, ExpectimaxConfig, NetworkExpectimaxConfig, or None for 1ply
    player: str = TREE  # kind of search: key of LearnerSpec.players
    against: dict[str, Any] = field(default_factory=dict)  # the adversary of its games, as entries of a result

    def record(self) -> dict[str, Any]:
        """Return the search as entries of a result file."""
        return {"search": self.name} | ({"search_config": asdict(self.config)} if self.config else {}) | self.against
