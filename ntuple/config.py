"""The configuration of an n-tuple learner."""

import os
from dataclasses import dataclass

from ntuple.board import make_rules
from ntuple.patterns import parse_network


def available_cores() -> int:
    """The cores that this process may use, where the system tells: a batch job has a few of many."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class NTupleConfig:
    """What an n-tuple learner learns, and how: TD(0), TC, or OTD+TC, optimistic where v_init > 0.

    Raises:
        ValueError: a value that no learner can have; the line names it.
    """

    rows: int = 4  # H of the board, 1..4
    columns: int = 4  # W of the board, 1..4
    network: str = "4x6"  # a name of ntuple.patterns.NETWORKS, or quoted hex patterns like "0123,4567"
    env_steps: int = 100_000_000  # training budget, moves
    report_env_steps: int = 5_000_000  # moves between two reports
    threads: int = 0  # lock-free learners on one network; 0 = one a core; 1 = reproducible to the bit
    v_init: float = 0.0  # value of every board at the start; 320,000 in Guei et al. 2022
    td_alpha: float = 0.1  # learning rate of TD(0)
    tc_alpha: float = 1.0  # learning rate of TC
    tc_fraction: float = 1.0  # share of the budget, its last part, learned by TC (P_TC): 0 = (O)TD, 1 = (O)TC

    def __post_init__(self) -> None:
        make_rules(self.rows, self.columns)
        parse_network(self.network, self.rows, self.columns)
        for name in ("env_steps", "report_env_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be at least 1 move")
        if self.threads < 0:
            raise ValueError(f"threads = {self.threads}: must be at least 1, or 0 for one a core")
        for name in ("td_alpha", "tc_alpha"):
            if not 0 < getattr(self, name) <= 2:
                raise ValueError(f"{name} = {getattr(self, name)}: must be above 0 and at most 2")
        if not 0 <= self.tc_fraction <= 1:
            raise ValueError(f"tc_fraction = {self.tc_fraction}: must lie between 0 (TD alone) and 1 (TC alone)")
        if not 0 <= self.v_init < 1e9:
            raise ValueError(f"v_init = {self.v_init}: must be at least 0 and below 1e9")

    @property
    def num_threads(self) -> int:
        """The threads to start on this machine."""
        return self.threads or available_cores()

    @property
    def tc_starts(self) -> int:
        """The move with which TC takes over from TD(0)."""
        return round(self.env_steps * (1 - self.tc_fraction))
