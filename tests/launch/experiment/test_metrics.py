from launch.experiment import metrics


def test_every_metric_says_its_unit_and_meaning_once():
    of_learners = (metrics.TRAINING, metrics.NTUPLE, metrics.DEEP_TD, metrics.MUZERO)
    every = [metric for group in (metrics.AXES, *of_learners, metrics.EVALUATION, metrics.PROBES) for metric in group]
    assert len({metric.name for metric in every}) == len(every)
    assert all(metric.unit and metric.meaning for metric in metrics.REGISTRY.values())
