"""The tree search in plain Python, one board, one node after the other, on a model given as tables.

Gumbel top-m and Sequential Halving at the root (Danihelka et al. 2022), PUCT at decision nodes inside (Schrittwieser et
al. 2020, appendix B), at chance nodes the code that lags most behind its probability. A node's value is the mean of its
own evaluation and of what its later visits brought. The reward belongs to the move, which alone discounts.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Tables(NamedTuple):
    """A model of S states and F afterstates, each a row."""

    policy_logits: np.ndarray  # [S, A]
    value: np.ndarray  # [S]
    afterstate: np.ndarray  # int [S, A]
    reward: np.ndarray  # [S, A]
    afterstate_value: np.ndarray  # [F]
    chance_logits: np.ndarray  # [F, C]
    next_state: np.ndarray  # int [F, C]


class Settings(NamedTuple):
    """What SearchConfig sets, with min-max rescaling at each node."""

    simulations: int
    considered_actions: int
    discount: float
    c_visit: float = 50.0
    c_scale: float = 0.1
    range_floor: float = 1.0
    pb_c_init: float = 1.25
    pb_c_base: float = 19652.0


@dataclass
class Node:
    """A decision or a chance node; edges by action or code."""

    row: int
    is_chance: bool
    raw_value: float
    total: float = 0.0  # sum of all that was backed up, its own evaluation first
    count: int = 0
    children: dict[int, "Node"] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return self.total / self.count


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(np.asarray(logits, float) - np.max(logits))
    return weights / weights.sum()


def decision_node(tables: Tables, row: int) -> Node:
    value = float(tables.value[row])
    return Node(row, False, value, value, 1)


def chance_node(tables: Tables, row: int) -> Node:
    value = float(tables.afterstate_value[row])
    return Node(row, True, value, value, 1)


def search(tables: Tables, row: int, legal: list[bool], gumbel: np.ndarray, settings: Settings) -> Node:
    """The root after all simulations."""
    root = decision_node(tables, row)
    schedule = halving(min(settings.considered_actions, sum(legal)), settings.simulations)
    for considered_visits in schedule:
        action = root_action(tables, root, legal, gumbel, considered_visits, settings)
        path = [(root, action)]
        node = root
        while path[-1][1] in node.children:
            node = node.children[path[-1][1]]
            path.append((node, inside_choice(tables, node, settings)))
        back_up(tables, path, expand(tables, *path[-1]), settings)
    return root


def expand(tables: Tables, node: Node, choice: int) -> Node:
    if node.is_chance:
        child = decision_node(tables, int(tables.next_state[node.row, choice]))
    else:
        child = chance_node(tables, int(tables.afterstate[node.row, choice]))
    node.children[choice] = child
    return child


def back_up(tables: Tables, path: list[tuple[Node, int]], leaf: Node, settings: Settings) -> None:
    value = leaf.value
    for node, choice in reversed(path):
        if not node.is_chance:
            value = float(tables.reward[node.row, choice]) + settings.discount * value
        node.total += value
        node.count += 1
        node.visits[choice] = node.visits.get(choice, 0) + 1


def halving(considered: int, simulations: int) -> list[int]:
    """How often an action must have been visited to be up next, for each simulation."""
    if considered <= 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    schedule: list[int] = []
    visits, survivors = 0, considered
    while len(schedule) < simulations:
        for _ in range(max(1, int(simulations / (phases * survivors)))):
            schedule += [visits] * survivors
            visits += 1
        survivors = max(2, survivors // 2)
    return schedule[:simulations]


def q_value(tables: Tables, node: Node, action: int, settings: Settings) -> float:
    return float(tables.reward[node.row, action]) + settings.discount * node.children[action].value


def completed_q(tables: Tables, root: Node, legal: list[bool], settings: Settings) -> list[float]:
    """Q of the visited actions, the mixed value for the others (appendix D)."""
    prior = softmax(np.where(legal, tables.policy_logits[root.row], -1e9))
    visited = sorted(root.children)
    count, mixed = sum(root.visits.values()), root.raw_value
    if visited:
        mass = sum(prior[a] for a in visited)
        weighted = sum(prior[a] * q_value(tables, root, a, settings) for a in visited) / mass
        mixed = (root.raw_value + count * weighted) / (1 + count)
    return [q_value(tables, root, a, settings) if a in root.children else mixed for a in range(len(prior))]


def sigma(tables: Tables, root: Node, legal: list[bool], settings: Settings) -> np.ndarray:
    q = np.array(completed_q(tables, root, legal, settings))
    unit = (q - q.min()) / max(q.max() - q.min(), settings.range_floor)
    return (settings.c_visit + max(root.visits.values(), default=0)) * settings.c_scale * unit


def root_action(
    tables: Tables, root: Node, legal: list[bool], gumbel: np.ndarray, considered_visits: int, settings: Settings
) -> int:
    score = gumbel + tables.policy_logits[root.row] + sigma(tables, root, legal, settings)
    candidates = [a for a in range(len(legal)) if legal[a] and root.visits.get(a, 0) == considered_visits]
    return max(candidates, key=lambda a: score[a])


def final_action(tables: Tables, root: Node, legal: list[bool], gumbel: np.ndarray, settings: Settings) -> int:
    return root_action(tables, root, legal, gumbel, max(root.visits.values()), settings)


def policy_target(tables: Tables, root: Node, legal: list[bool], settings: Settings) -> np.ndarray:
    logits = tables.policy_logits[root.row] + sigma(tables, root, legal, settings)
    return softmax(np.where(legal, logits, -np.inf))


def inside_choice(tables: Tables, node: Node, settings: Settings) -> int:
    if node.is_chance:
        probabilities = softmax(tables.chance_logits[node.row])
        total = sum(node.visits.values())
        lag = [p * (total + 1) - node.visits.get(code, 0) for code, p in enumerate(probabilities)]
        return int(np.argmax(lag))
    prior = softmax(tables.policy_logits[node.row])
    q = [q_value(tables, node, a, settings) if a in node.children else node.value for a in range(len(prior))]
    low, high = min(*q, node.value), max(*q, node.value)
    rate = settings.pb_c_init + math.log((node.count + settings.pb_c_base + 1) / settings.pb_c_base)
    scores = [
        (q[a] - low) / max(high - low, settings.range_floor)
        + prior[a] * math.sqrt(node.count) / (1 + node.visits.get(a, 0)) * rate
        for a in range(len(prior))
    ]
    return int(np.argmax(scores))
