"""TD learning with deep networks, as the registry of launch sees it."""

from ntuple.core.learner_spec import EXPECTIMAX, ONE_PLY, TREE, LearnerSpec

SPEC = LearnerSpec(
    config="muzero2048.deep_td.config:DeepTDConfig",
    learner="muzero2048.deep_td.learner:DeepTDLearner",
    players={
        ONE_PLY: "muzero2048.deep_td.value_player:load_one_ply_player",
        EXPECTIMAX: "muzero2048.deep_td.value_player:load_value_expectimax",
        TREE: "muzero2048.deep_td.value_player:load_value_search",
    },
    uses_jax=True,
    begin_from="muzero2048.training.base_learner:begin_from",
    memory_keys="deep_td.replay.capacity, deep_td.replay.batch_size, deep_td.num_envs or deep_td.network",
    value="network",
    models=("simulator",),
)
