from launch.experiment import metrics


def test_every_metric_says_its_unit_and_meaning_once():
    of_learners = (metrics.TRAINING, metrics.NTUPLE, metrics.DEEP_TD, metrics.MUZERO)
    every = [metric for group in (metrics.AXES, *of_learners, metrics.EVALUATION, metrics.PROBES) for metric in group]
    assert len({metric.name for metric in every}) == len(every)
    assert all(metric.unit and metric.meaning for metric in metrics.REGISTRY.values())


def test_the_names_that_the_learners_are_promised():
    promised = """env_steps games updates wall_hours train/score_mean train/score_max train/moves_mean train/games
    train/reach_2048 train/reach_8192 train/reach_32768 perf/moves_per_second perf/updates_per_second
    td/error_abs_mean td/learning_rate td/coherence eval/score_mean eval/score_low eval/score_high
    eval/score_median eval/score_max eval/moves_mean eval/games eval/moves_per_second eval/reach_2048
    eval/reach_4096 eval/reach_8192 eval/reach_16384 eval/reach_32768 eval/reach_65536 eval/reach_131072"""
    metrics.check(promised.split())
