"""Faults in the page of replay."""

from faults.mutant import Mutant

REPLAY = (
    Mutant(
        "replay-loss-against-the-mean-of-the-moves",
        "launch/viewing/replay/views.py",
        "known.max(axis=1, initial=-np.inf) - of_made",
        "known.mean(axis=1) - of_made",
        ("launch/viewing/test_replay.py",),
    ),
    Mutant(
        "replay-rest-of-the-score-without-the-move",
        "launch/viewing/replay/games.py",
        "return np.cumsum(self.points[::-1])[::-1]",
        "return np.cumsum(self.points[::-1])[::-1] - self.points",
        ("launch/viewing/test_replay.py",),
    ),
    Mutant(
        "replay-text-of-records-is-markup",
        "launch/viewing/replay/page.py",
        "{escape(_subtitle(content))}",
        "{_subtitle(content)}",
        ("launch/viewing/test_replay.py",),
    ),
    Mutant(
        "replay-data-ends-its-script",
        "launch/viewing/replay/page.py",
        r'.replace("<", "\\u003c")',
        "",
        ("launch/viewing/test_replay.py",),
    ),
)
