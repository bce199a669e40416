"""Configuration of the tables that guide a search."""

from ntuple.core.settings import Settings, setting

TABLES = "search.endgames!="  # not an empty list


class EndgamesConfig(Settings, prefix="search"):
    """Tables of endgames that remove moves of a search (ntuple/endgames/guide.py)."""

    endgames: tuple[str, ...] = setting(
        (),
        "Tables of `muzero2048 endgame`; where a board fits one, the first of them removes moves that it finds worse.",
    )
    endgame_least: float = setting(
        0.0, "Probability of the best move from which on a table removes others.", at_least=0, at_most=1, only_if=TABLES
    )
    endgame_tolerance: float = setting(
        0.0001, "Probability that a move may lose without being removed.", at_least=0, at_most=1, only_if=TABLES
    )
