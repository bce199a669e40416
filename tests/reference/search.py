"""Tree search in plain Python, in float64: one board, one node at a time, on a model given as tables.

    root                     Gumbel top-m with Sequential Halving (Danihelka et al. 2022), or PUCT (Schrittwieser et al.
                             2020, appendix B)
    decision nodes inside    the rule of Gumbel MuZero, or PUCT
    chance nodes             one of five rules

- The value of a node is the mean of its own evaluation and the values that later visits back up. With the rule
  `weighted`, the value of a chance node is the expectation over its outcomes.
- The reward belongs to the move, and only moves discount.
- The game is over in a state without a legal action. Every visit of such a state backs up 0.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

ILLEGAL = -1e9  # logit of an action that is known to be illegal
WORDS = 2**32
GOLDEN_RATIO = 0x9E3779B9


class Tables(NamedTuple):
    """A model of S states and F afterstates; each of them is a row of the arrays."""

    policy_logits: np.ndarray  # [S, A]
    value: np.ndarray  # [S]
    afterstate: np.ndarray  # int [S, A]
    reward: np.ndarray  # [S, A]
    afterstate_value: np.ndarray  # [F]
    chance_logits: np.ndarray  # [F, C]
    next_state: np.ndarray  # int [F, C]


class Settings(NamedTuple):
    """The discount, and the options of SearchConfig by their names there."""

    discount: float
    simulations: int
    root: str
    considered_actions: int
    inside: str
    chance: str
    read_out: str
    c_visit: float
    c_scale: float
    completion: str
    normalization: str
    range_floor: float
    value_scale: float
    c_init: float
    c_base: float
    unvisited: str


class Position(NamedTuple):
    """The root of a search: its row in the tables, and the other inputs."""

    row: int
    legal: list[bool]
    gumbel: np.ndarray
    seed: int


class Result(NamedTuple):
    """The output of a search."""

    action: int
    policy_target: np.ndarray
    q_values: np.ndarray
    visits: np.ndarray
    value: float


@dataclass
class Node:
    """A decision node, with actions as edges, or a chance node, with spawn codes as edges."""

    row: int
    number: int
    is_chance: bool
    logits: np.ndarray  # [A] of the actions, or [C] of the codes
    raw_value: float  # the model's evaluation
    value: float = 0.0  # current value
    count: int = 1  # number of values averaged in `value`
    children: dict[int, "Node"] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.value = self.raw_value
        self.prior = softmax(self.logits)

    @property
    def possible(self) -> list[int]:
        return [slot for slot, logit in enumerate(self.logits) if logit > ILLEGAL / 2]

    @property
    def is_over(self) -> bool:
        return not self.is_chance and not self.possible

    def visited(self, slot: int) -> int:
        return self.visits.get(slot, 0)

    @property
    def total(self) -> int:
        return sum(self.visits.values())


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(np.asarray(logits, float) - np.max(logits))
    return weights / weights.sum()


class Search:
    """The search tree of one position."""

    def __init__(self, tables: Tables, position: Position, settings: Settings):
        self.tables, self.position, self.settings = tables, position, settings
        logits = np.where(position.legal, tables.policy_logits[position.row], ILLEGAL)
        self.root = Node(position.row, 0, False, logits, float(tables.value[position.row]))
        self.low = self.high = self.root.value  # smallest and largest Q in the tree so far
        schedule = halving(min(settings.considered_actions, sum(position.legal)), settings.simulations)
        for self.number, visits in enumerate(schedule, start=1):  # number of the node to add
            gumbel = settings.root == "gumbel" and not self.root.is_over
            self.visit(self.root, self.best_of_considered(visits) if gumbel else None)

    def visit(self, node: Node, slot: int | None = None) -> float:
        """Visit a node through `slot`, or through the slot that its rule selects; return the value to back up."""
        if node.is_over:
            slot, brought = 0, 0.0
        else:
            slot = self.choose(node) if slot is None else slot
            if slot in node.children:
                brought = self.visit(node.children[slot])
            else:
                node.children[slot] = self.expand(node, slot)
                brought = node.children[slot].value
            if not node.is_chance:
                brought = float(self.tables.reward[node.row, slot]) + self.settings.discount * brought
                self.low, self.high = min(self.low, self.q(node, slot)), max(self.high, self.q(node, slot))
        node.visits[slot] = node.visited(slot) + 1
        node.count += 1
        node.value += (brought - node.value) / node.count
        if node.is_chance and self.settings.chance == "weighted":
            node.value = brought = expectation(node, {code: child.value for code, child in node.children.items()})
        return brought

    def expand(self, node: Node, slot: int) -> Node:
        tables = self.tables
        if node.is_chance:
            row = int(tables.next_state[node.row, slot])
            return Node(row, self.number, False, tables.policy_logits[row], float(tables.value[row]))
        row = int(tables.afterstate[node.row, slot])
        return Node(row, self.number, True, tables.chance_logits[row], float(tables.afterstate_value[row]))

    def q(self, node: Node, action: int) -> float:
        return float(self.tables.reward[node.row, action]) + self.settings.discount * node.children[action].value

    def choose(self, node: Node) -> int:
        if node.is_chance:
            return self.code(node)
        rule = self.settings.root if node is self.root else self.settings.inside
        scores = self.puct(node) if rule == "puct" else self.lead(node)
        return max(node.possible, key=lambda action: scores[action])

    # Rules at decision nodes.

    def puct(self, node: Node) -> np.ndarray:
        q = np.array([self.q(node, a) if a in node.children else node.value for a in range(4)])
        unit = self.normalize(q, min(*q, node.value), max(*q, node.value))
        if self.settings.unvisited == "zero":
            unit = np.array([unit[a] if a in node.children else 0.0 for a in range(4)])
        c_base = self.settings.c_base
        rate = self.settings.c_init + math.log((node.count + c_base + 1) / c_base)
        visits = np.array([node.visited(a) for a in range(4)])
        return unit + node.prior * math.sqrt(node.count) / (1 + visits) * rate

    def lead(self, node: Node) -> np.ndarray:
        """Return the score of Gumbel MuZero at inner nodes: improved policy - N(a) / (1 + sum_b N(b))."""
        improved = softmax(node.logits + self.sigma(node, self.completed_q(node)))
        return improved - np.array([node.visited(a) for a in range(4)]) / (1 + node.total)

    def completed_q(self, node: Node) -> np.ndarray:
        """Return Q of the visited actions; for the others the mixed value of Gumbel MuZero, appendix D, or V."""
        return self.complete(node, {action: self.q(node, action) for action in node.children})

    def complete(self, node: Node, found: dict[int, float]) -> np.ndarray:
        mixed = node.raw_value
        if found and self.settings.completion == "mixed":
            mean = sum(node.prior[a] * q for a, q in found.items()) / sum(node.prior[a] for a in found)
            mixed = (node.raw_value + node.total * mean) / (1 + node.total)
        return np.array([found.get(a, mixed) for a in range(4)])

    def sigma(self, node: Node, completed: np.ndarray) -> np.ndarray:
        unit = self.normalize(completed, completed.min(), completed.max())
        return (self.settings.c_visit + max(node.visits.values(), default=0)) * self.settings.c_scale * unit

    def normalize(self, q: np.ndarray, low: float, high: float) -> np.ndarray:
        if self.settings.normalization == "fixed":
            return (q - low) / self.settings.value_scale
        if self.settings.normalization == "tree":
            low, high = self.low, self.high
        return (q - low) / max(high - low, self.settings.range_floor)

    # Rules at chance nodes.

    def code(self, node: Node) -> int:
        n = np.array([node.visited(code) for code in range(len(node.prior))])
        deficit = node.prior * (node.total + 1) - n
        step = node_seed(self.position.seed, node.number) + node.total * GOLDEN_RATIO
        match self.settings.chance:
            case "ratio":
                return int(np.argmax(node.prior / (n + 1)))
            case "deficit":
                return int(np.argmax(deficit))
            case "weighted":
                fresh = np.where(n == 0, node.prior, 0.0)
                return int(np.argmax(fresh if fresh.any() else deficit))
            case "quasi_random":
                return inverse_cdf(node.prior, step % WORDS)
            case "sampled":
                return inverse_cdf(node.prior, mix(step % WORDS))
        raise ValueError(self.settings.chance)

    # Rules at the root, and the result.

    def best_of_considered(self, visits: int, q: np.ndarray | None = None) -> int:
        completed = self.completed_q(self.root) if q is None else q
        score = self.position.gumbel + self.root.logits + self.sigma(self.root, completed)
        return max((a for a in self.root.possible if self.root.visited(a) == visits), key=lambda a: score[a])

    def swept(self, node: Node) -> float:
        """Return expectimax over the visited part of the tree; a node without children has the model's evaluation."""
        if not node.children:
            return node.raw_value
        behind = {slot: self.swept(child) for slot, child in node.children.items()}
        if node.is_chance:
            return expectation(node, behind)
        return max(float(self.tables.reward[node.row, a]) + self.settings.discount * v for a, v in behind.items())

    def result(self) -> Result:
        root, visits = self.root, np.array([self.root.visited(a) for a in range(4)])
        if root.is_over:
            return Result(0, np.zeros(4), np.zeros(4), visits, 0.0)
        found = {action: self.q(root, action) for action in root.children}
        if self.settings.read_out == "expectimax":
            for action, child in root.children.items():
                reward = float(self.tables.reward[root.row, action])
                found[action] = reward + self.settings.discount * self.swept(child)
        q = self.complete(root, found)
        if self.settings.root == "gumbel":
            action = self.best_of_considered(max(visits), q)
            target = np.where(self.position.legal, softmax(root.logits + self.sigma(root, q)), 0.0)
        else:
            action = max(root.children, key=lambda a: math.log(visits[a]) + self.position.gumbel[a])
            target = visits / visits.sum()
        return Result(action, target, q, visits, max(found.values()))


def search(tables: Tables, position: Position, settings: Settings) -> Result:
    return Search(tables, position, settings).result()


def expectation(node: Node, values: dict[int, float]) -> float:
    """Return the expectation over the outcomes; those that were not visited count with the afterstate's own value."""
    inside = sum(node.prior[code] * value for code, value in values.items())
    return inside + (1 - sum(node.prior[code] for code in values)) * node.raw_value


def halving(considered: int, simulations: int) -> list[int]:
    """Return, for each simulation, the number of visits that an action must have to be selected."""
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


def inverse_cdf(probabilities: np.ndarray, draw: int) -> int:
    """Return the code whose interval of cumulative probability contains the draw; only its 23 upper bits count."""
    place = (draw >> 9) / 2**23 * float(np.sum(probabilities))
    behind = 0.0
    for code, probability in enumerate(probabilities):
        behind += float(probability)
        if probability > 0 and place < behind:
            return code
    return int(np.flatnonzero(probabilities)[-1])


def node_seed(seed: int, number: int) -> int:
    return mix(seed ^ mix((number + GOLDEN_RATIO) % WORDS))


def mix(word: int) -> int:
    """Apply the finalizer of MurmurHash3 (32 bits)."""
    word = (word ^ (word >> 16)) * 0x85EBCA6B % WORDS
    word = (word ^ (word >> 13)) * 0xC2B2AE35 % WORDS
    return word ^ (word >> 16)
