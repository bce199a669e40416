"""MuZero, as the registry of launch sees it."""

from ntuple.core.learner_spec import EXPECTIMAX, TREE, LearnerSpec

SPEC = LearnerSpec(
    config="muzero2048.muzero.config:MuZeroConfig",
    learner="muzero2048.muzero.learner:MuZeroLearner",
    players={
        EXPECTIMAX: "muzero2048.muzero.network_player:load_muzero_expectimax",
        TREE: "muzero2048.muzero.network_player:load_muzero_player",
    },
    uses_jax=True,
    begin_from="muzero2048.training.base_learner:begin_from",
    memory_keys="muzero.replay.capacity, muzero.replay.batch_size, muzero.num_envs or muzero.network",
    several_processes=True,
    value="network",
    models=("learned", "simulator"),
    has_search_settings=True,
    diagnose="muzero2048.muzero.diagnosis.by_depth:errors_of_checkpoint",
)
