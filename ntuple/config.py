"""The configuration of an n-tuple learner."""

import os
from dataclasses import dataclass, field
from typing import Literal

from ntuple.board import make_rules
from ntuple.patterns import parse_network, table_sizes
from ntuple.stages import count_stages, make_stages

MOST_PLACES = 2**32  # of a tuple: a place is 32 bits
JUMP_TILES = {str(2**level): level for level in range(3, 18)}


def available_cores() -> int:
    """The cores that this process may use, where the system tells: a batch job has a few of many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class TargetConfig:
    """What an afterstate learns from (ntuple.targets)."""

    method: Literal["td", "n_step", "trace", "delayed", "expected"] = "td"
    direction: Literal["forward", "backward"] = "forward"  # during the game, or from its end (Matsuzaki 2017)
    steps: int = 1  # n_step: n
    decay: float = 0.5  # trace, delayed: lambda
    horizon: int = 3  # trace and delayed, forward: h, moves behind that an error still reaches (Jaskowski 2017)
    # target: V below 0 counts 0 in targets (Guei 2023, eq. 45); relu: and is not learned from (eq. 46)
    rectified: Literal["none", "target", "relu"] = "none"

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= 1000:
            raise ValueError(f"target.steps = {self.steps}: must be between 1 and 1000")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"target.decay = {self.decay}: must be between 0 and 1")
        if not 0 <= self.horizon <= 1000:
            raise ValueError(f"target.horizon = {self.horizon}: must be between 0 and 1000")
        if self.method == "delayed" and self.direction == "backward":
            raise ValueError("target.method = delayed is forward: set target.method = trace to go backward")
        if self.method == "expected" and (self.direction, self.rectified) != ("forward", "none"):
            raise ValueError("target.method = expected is forward and not rectified: leave out direction and rectified")


@dataclass(frozen=True)
class StepSizeConfig:
    """How an error moves the weights (ntuple.updates): TD first, then an adaptive rule for the last part."""

    alpha: float = 0.1  # TD: learning rate
    alpha_steps: str = ""  # TD: later rates, by the share of the budget that is done, like 0.5:0.01 0.75:0.001
    adaptive_fraction: float = 1.0  # P_TC: share of the budget, its last part, of the adaptive rule; 0 = TD alone
    adaptive: Literal["tc", "autostep"] = "tc"
    adaptive_alpha: float = 1.0  # TC: learning rate before coherence
    tc_sums: Literal["errors", "steps"] = "errors"  # what E and A sum: Jaskowski 2017 and Guei, or Matsuzaki 2017
    reset_env_steps: int = 0  # adaptive: forget what the rates have learned every so many moves; 0: never
    mu: float = 0.1  # Autostep: rate of the rates
    tau: float = 1e-4  # Autostep: rate at which scales are forgotten
    first: float = 1.0  # Autostep: rate of a weight at the start

    def __post_init__(self) -> None:
        for name in ("alpha", "adaptive_alpha"):
            if not 0 < getattr(self, name) <= 2:
                raise ValueError(f"step_size.{name} = {getattr(self, name)}: must be above 0 and at most 2")
        if not 0 <= self.adaptive_fraction <= 1:
            raise ValueError(f"step_size.adaptive_fraction = {self.adaptive_fraction}: must lie between 0 and 1")
        if self.reset_env_steps < 0:
            raise ValueError(f"step_size.reset_env_steps = {self.reset_env_steps}: must be at least 0")
        for name in ("mu", "tau", "first"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"step_size.{name} = {getattr(self, name)}: must be above 0 and at most 1")
        self._check_rates()

    def _check_rates(self) -> None:
        mistake = f"step_size.alpha_steps = {self.alpha_steps!r}"
        try:
            shares, rates = [share for share, _ in self.rates], [rate for _, rate in self.rates]
        except ValueError as error:
            raise ValueError(f"{mistake}: give share:rate pairs like 0.5:0.01 0.75:0.001") from error
        if shares != sorted(set(shares)) or not all(0 < share < 1 for share in shares):
            raise ValueError(f"{mistake}: give ascending shares between 0 and 1")
        if not all(0 < rate <= 2 for rate in rates):
            raise ValueError(f"{mistake}: give rates above 0 and at most 2")

    @property
    def rates(self) -> tuple[tuple[float, float], ...]:
        """(share of the budget, rate of TD from there on) of the later rates."""
        pairs = (word.split(":") for word in self.alpha_steps.split())
        return tuple((float(share), float(rate)) for share, rate in pairs)


@dataclass(frozen=True)
class ExplorationConfig:
    """Moves other than the best one in training; both fall linearly to 0 (Guei 2023, appendix C)."""

    epsilon: float = 0.0  # chance of a random move, at the beginning
    temperature: float = 0.0  # softmax, points, at the beginning
    decay: float = 1.0  # share of the budget in which they fall to 0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"exploration.epsilon = {self.epsilon}: must be between 0 and 1")
        if not 0 <= self.temperature < 1e9:
            raise ValueError(f"exploration.temperature = {self.temperature}: must be at least 0 and below 1e9")
        if not 0 < self.decay <= 1:
            raise ValueError(f"exploration.decay = {self.decay}: must be above 0 and at most 1")


@dataclass(frozen=True)
class StartConfig:
    """Where the games of training begin (ntuple.starts). Evaluation always plays from normal starts."""

    kind: Literal["normal", "restart", "carousel", "jump_start"] = "normal"
    restart_moves: int = 100  # L: no restart with fewer moves than this behind the middle
    stages: str = ""  # carousel: as in `stages`; "": those of the network
    carousel_size: int = 1000  # carousel: afterstates kept of each stage, a thread
    jump_fraction: float = 0.5  # jump_start: share of the games that begin so
    jump_tiles: str = "16384 8192 4096"  # jump_start: one or more of these, from the first on

    def __post_init__(self) -> None:
        for name in ("restart_moves", "carousel_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"start.{name} = {getattr(self, name)}: must be at least 1")
        if not 0 <= self.jump_fraction <= 1:
            raise ValueError(f"start.jump_fraction = {self.jump_fraction}: must be between 0 and 1")
        make_stages(self.stages)
        words = self.jump_tiles.split()
        if not words or not all(word in JUMP_TILES for word in words):
            raise ValueError(f"start.jump_tiles = {self.jump_tiles!r}: give tiles from 8 to 131072, such as 4096 2048")

    @property
    def jump_levels(self) -> tuple[int, ...]:
        """log2 of the tiles on a made-up board."""
        return tuple(JUMP_TILES[word] for word in self.jump_tiles.split())


@dataclass(frozen=True)
class AverageConfig:
    """Stochastic weight averaging: play with the mean of the networks along the way (Guei 2023, sec. 4.2).

    A coherence reset at the same moves, `step_size.reset_env_steps`, makes a cycle of each of them: the weights are
    taken as it ends.
    """

    env_steps: int = 0  # moves between two networks of the mean; 0: no mean
    fraction: float = 0.5  # share of the budget, its last part, whose networks are averaged

    def __post_init__(self) -> None:
        if self.env_steps < 0:
            raise ValueError(f"average.env_steps = {self.env_steps}: must be at least 0")
        if not 0 < self.fraction <= 1:
            raise ValueError(f"average.fraction = {self.fraction}: must be above 0 and at most 1")


@dataclass(frozen=True)
class NTupleConfig:
    """What an n-tuple learner learns, and how; optimistic where v_init > 0.

    Raises:
        ValueError: a value that no learner can have; the line names it.
    """

    rows: int = 4  # H of the board, 1..4
    columns: int = 4  # W of the board, 1..4
    network: str = "4x6"  # a name of ntuple.patterns.NETWORKS, or quoted hex patterns like "0123,4567"
    symmetry: bool = True  # one table for all eight views of a tuple (four on oblong boards), or for one alone
    values: Literal["afterstate", "state", "action"] = "afterstate"  # what the network values (ntuple.state_action)
    stages: str = ""  # parts of a game with weights of their own: "2^3", "top4", "0,16384,16384+8192"; "": one
    promotion: Literal["none", "inter", "intra", "both"] = "none"  # what an untouched weight begins with
    frozen_stages: int = 0  # the first stages learn nothing: with run.begin_from a later one is trained alone
    frozen_tuples: int = 0  # the first tuples learn nothing: with run.begin_from others learn what these leave
    env_steps: int = 100_000_000  # training budget, moves
    report_env_steps: int = 5_000_000  # moves between two reports
    threads: int = 0  # lock-free learners on one network; 0 = one a core; 1 = reproducible to the bit
    v_init: float = 0.0  # value of every board at the start; 320,000 in Guei et al. 2022
    target: TargetConfig = field(default_factory=TargetConfig)
    step_size: StepSizeConfig = field(default_factory=StepSizeConfig)
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    start: StartConfig = field(default_factory=StartConfig)
    average: AverageConfig = field(default_factory=AverageConfig)

    def __post_init__(self) -> None:
        make_rules(self.rows, self.columns)
        stages = count_stages(self.stages)
        if not 0 <= self.frozen_stages < stages:
            raise ValueError(
                f"frozen_stages = {self.frozen_stages}: must be at least 0 and below the {stages} of stages"
            )
        tuples = len(parse_network(self.network, self.rows, self.columns))
        if not 0 <= self.frozen_tuples < tuples:
            raise ValueError(
                f"frozen_tuples = {self.frozen_tuples}: must be at least 0 and below the {tuples} of network"
            )
        for name in ("env_steps", "report_env_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be at least 1 move")
        if self.threads < 0:
            raise ValueError(f"threads = {self.threads}: must be at least 1, or 0 for one a core")
        if not 0 <= self.v_init < 1e9:
            raise ValueError(f"v_init = {self.v_init}: must be at least 0 and below 1e9")
        self._check_values()
        if self.promotion in ("inter", "both") and not self.stages:
            raise ValueError(f"promotion = {self.promotion} goes from stage to stage: set stages, or promotion = intra")
        if self.start.kind == "carousel" and not (self.stages or self.start.stages):
            raise ValueError("start.kind = carousel needs stages: set start.stages, for example to 2^4")
        if self.start.kind == "jump_start" and self.rows * self.columns < len(self.start.jump_levels) + 3:
            raise ValueError(f"start.jump_tiles = {self.start.jump_tiles!r}: too many for {self.rows}x{self.columns}")

    def _check_values(self) -> None:
        """States and actions are there for comparison: they know one target and one start."""
        if self.values == "afterstate":
            return
        for key, default in (("target", TargetConfig()), ("start", StartConfig()), ("promotion", "none")):
            if getattr(self, key) != default:
                raise ValueError(f"values = {self.values} learns from one step and normal starts: leave out {key}")
        patterns = parse_network(self.network, self.rows, self.columns)
        if max(table_sizes(patterns, self.rows, self.columns, self.values)) > MOST_PLACES:
            raise ValueError("values = action has four tables a tuple, too large with 8 cells: give another network")

    @property
    def num_threads(self) -> int:
        """The threads to start on this machine."""
        return self.threads or available_cores()

    @property
    def adaptive_starts(self) -> int:
        """The move with which the adaptive rule takes over from TD."""
        return round(self.env_steps * (1 - self.step_size.adaptive_fraction))

    def is_averaged(self, env_steps: int) -> bool:
        """Whether the network behind so many moves is one of the mean."""
        every, first = self.average.env_steps, round(self.env_steps * (1 - self.average.fraction))
        return every > 0 and env_steps > first and (env_steps % every == 0 or env_steps == self.env_steps)

    def alpha_at(self, env_steps: int) -> float:
        """The rate of TD behind so many moves."""
        passed = [rate for share, rate in self.step_size.rates if env_steps >= round(share * self.env_steps)]
        return passed[-1] if passed else self.step_size.alpha

    def exploration_at(self, env_steps: int) -> float:
        """The share of its beginning that exploration has left behind so many moves."""
        return max(0.0, 1.0 - env_steps / (self.exploration.decay * self.env_steps))
