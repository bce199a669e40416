"""The evaluations that a training plays: which games, with which search, and the metrics of its probes."""

from launch.evaluation.result import Evaluation
from launch.evaluation.search_options import SearchChoice, SearchOptions
from launch.evaluation.searches import resolve
from launch.evaluation.seeds import final_evaluation_seed, training_evaluation_seed
from launch.evaluation.summary import summarize
from launch.experiment.experiment import Experiment
from launch.experiment.interfaces import Learner
from launch.experiment.metrics import Row
from ntuple.core.interfaces import Games


def evaluation_in_training(experiment: Experiment) -> Evaluation:
    """Return the games of an evaluation during training."""
    return Evaluation(experiment.run.evaluation_games, training_evaluation_seed(experiment.run.seed))


def final_evaluation(experiment: Experiment) -> Evaluation:
    """Return the games of the evaluation that ends a run: more of them, under another seed."""
    return Evaluation(experiment.run.final_games, final_evaluation_seed(experiment.run.seed))


def own_search(experiment: Experiment) -> SearchChoice:
    """Return the search that the learner's own player plays with, in training and after it."""
    return resolve(experiment, SearchOptions(), experiment.run.folder)


def play_with_probes(learner: Learner, evaluation: Evaluation, probe_games: int) -> tuple[Games, Row]:
    """Play an evaluation and the learner's probes with the current weights, and diagnose the learned model.

    Probes play `probe_games` games under the same seed; 0: none. Returns the games of the evaluation, and the metrics
    of the probes and of the diagnosis.
    """
    games = learner.player().play(evaluation.games, evaluation.seed)
    probes = dict(learner.diagnose())
    if probe_games:
        for name, player in learner.probes().items():
            probes |= _probe_metrics(name, player.play(probe_games, evaluation.seed), games)
    return games, probes


def _probe_metrics(name: str, probe: Games, games: Games) -> dict[str, float]:
    """Return the metrics probe/<name>_* of a probe's games.

    gap = mean score of the probe - mean score of the evaluation
    """
    summary = summarize(probe)
    scalars = {
        "score_mean": summary.score_mean,
        "score_low": summary.score_low,
        "score_high": summary.score_high,
        "gap": summary.score_mean - float(games.score.mean()),
    }
    return {f"probe/{name}_{metric}": value for metric, value in scalars.items()}
