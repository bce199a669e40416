"""2048 for gymnasium: importing this package registers `muzero2048/Game2048-v0`, for `make` and for `make_vec`.

gymnasium 1.0 and later read no entry points of installed packages, so the package must be imported, or named before the
id: `gymnasium.make("muzero2048.environments:muzero2048/Game2048-v0")`.
"""

import gymnasium

ID = "muzero2048/Game2048-v0"

gymnasium.register(
    ID,
    entry_point="muzero2048.environments.game_env:Game2048Env",
    vector_entry_point="muzero2048.environments.vector_env:Game2048VectorEnv",
)
