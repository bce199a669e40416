"""The words of the options of a search, for the command line and for calls from Python; nothing is imported."""

SEARCHES = ("1ply", "expectimax", "mcts", "gumbel", "puct")
MODELS = ("learned", "simulator")
VALUES = ("network", "ntuple")
