"""The games for gymnasium: importing this package registers an id for each family, for `make` and for `make_vec`.

    muzero2048/Game2048-v0, muzero2048/Game2584-v0, muzero2048/Threes-v0

The keyword `game` names a variant, such as game="threes-easy" (docs/games.md).

gymnasium 1.0 and later read no entry points of installed packages, so the package must be imported, or named before the
id: `gymnasium.make("muzero2048.environments:muzero2048/Game2048-v0")`.
"""

import gymnasium

IDS = {"2048": "muzero2048/Game2048-v0", "2584": "muzero2048/Game2584-v0", "threes": "muzero2048/Threes-v0"}

for _game, _name in IDS.items():
    gymnasium.register(
        _name,
        entry_point="muzero2048.environments.game_env:GameEnv",
        vector_entry_point="muzero2048.environments.vector_env:GameVectorEnv",
        kwargs={"game": _game},
    )
