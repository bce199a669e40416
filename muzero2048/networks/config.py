"""Configuration of the networks."""

from typing import Literal

from ntuple.core.settings import Settings, group, setting

TUPLE_SHAPES = ("lines", "squares", "rects", "axes")  # defined in muzero2048/networks/tuple_embedding.py

CELLS_SHAPES = TUPLE_SHAPES[:3]  # defined in muzero2048/networks/board_lines.py

SHAPES = f"some of the names {', '.join(TUPLE_SHAPES)}"

# Conditions under which keys have an effect.
LATENT, CELLS, GROUNDED = "network.model=latent", "network.model=cells", "network.model=grounded"
HAS_TRUNK = "network.model=latent|grounded"
TRUNK_HAS_BLOCKS = "network.trunk=residual_mlp|se_resnet|tuples"
TUPLES, TABLES = "network.trunk=tuples", "network.value_tables.shapes!="


class TupleTrunkConfig(Settings, prefix="network.tuple_trunk"):
    """The trunk `tuples`: a table of vectors for each tuple of cells (muzero2048/networks/tuple_embedding.py)."""

    shapes: tuple[str, ...] = setting(
        ("lines", "squares"),
        "Shapes of the tuples: lines, squares, rects, axes. Tiles from level 15 on (2048: 32768, 2584: 987) share the "
        "entries of level 15; only the planes of the trunk tell them apart.",
    )
    width: int = setting(8, "Length of the vector of a table entry.", at_least=1, at_most=4096)

    def __post_init__(self) -> None:
        if not self.shapes or set(self.shapes) - set(TUPLE_SHAPES):
            self.refuse("shapes", SHAPES)


class LatentConfig(Settings, prefix="network.latent"):
    """The latent model (muzero2048/models/latent.py)."""

    action_input: Literal["append", "outer"] = setting(
        "append",
        "Input of phi. append: the state with the action appended, as published. outer: outer product of state and "
        "action, so the first layer of phi has separate weights for each action.",
    )
    encoder: Literal["mlp", "tower"] = setting(
        "mlp",
        "Learned encoder of chance codes. mlp: one hidden layer of 128 units. tower: a residual tower as phi and g "
        "have, as published (Stochastic MuZero, appendix C).",
    )


class CellsConfig(Settings, prefix="network.cells"):
    """The model of cells (muzero2048/models/cells.py)."""

    cell_width: int = setting(32, "Length of the latent vector of one cell.", at_least=1, at_most=4096)
    line_width: int = setting(256, "Hidden units of phi on one line.", at_least=1, at_most=2**16)
    line_products: bool = setting(
        True, "phi reads the products of the pairs of cells of a line, which show whether two tiles are equal."
    )
    shared_lines: bool = setting(
        True, "phi is one network for all lines and all four actions. false: each line of each action has its own."
    )
    farthest_cell: float = setting(
        0.03,
        "Weight of the cell with the largest distance in losses.afterstate_consistency, where the other cells have 1. "
        "It usually is the cell of the spawn, which no afterstate can tell.",
        at_least=0,
        at_most=1,
    )
    shapes: tuple[str, ...] = setting(("lines", "squares"), "What the trunk reads: lines, squares, rects (2x3 cells).")
    tuple_width: int = setting(64, "Units of the trunk for each line, square and rectangle.", at_least=1, at_most=2**16)
    tuple_layers: int = setting(
        1, "Layers of the trunk for each line, square and rectangle, before one layer on all.", at_least=1, at_most=2
    )
    tuple_products: bool = setting(
        False, "The trunk reads the products of the pairs of cells of a line, square or rectangle too, as phi does."
    )
    code_input: Literal["dense", "cell"] = setting(
        "cell",
        "What a chance code adds before g. dense: a vector for all cells. cell: code c adds one of C / N vectors to "
        "cell c N / C, so all cells share these vectors; C must be a multiple of N.",
    )

    def __post_init__(self) -> None:
        if not self.shapes or set(self.shapes) - set(CELLS_SHAPES) or len(set(self.shapes)) < len(self.shapes):
            self.refuse("shapes", f"each at most once: some of the names {', '.join(CELLS_SHAPES)}")


class GroundedConfig(Settings, prefix="network.grounded"):
    """The grounded model (muzero2048/models/grounded.py)."""

    cell_width: int = setting(16, "Length of the latent vector of one cell.", at_least=1, at_most=4096)
    line_width: int = setting(
        128, "Hidden units of phi, which computes the move of one line.", at_least=1, at_most=2**16
    )


class ValueTablesConfig(Settings, prefix="network.value_tables"):
    """An n-tuple network that is part of the value of a grounded model (muzero2048/networks/value_tables.py).

    It learns by TC.
    """

    shapes: tuple[str, ...] = setting((), "Shapes of the tuples: lines, squares, rects, axes; empty: no value tables.")
    bits: int = setting(
        20,
        "log2 of the number of entries of a value table; 24 bits distinguish all contents of six cells.",
        at_least=16,
        at_most=24,
        only_if=TABLES,
    )

    def __post_init__(self) -> None:
        if set(self.shapes) - set(TUPLE_SHAPES):
            self.refuse("shapes", SHAPES)


class NetworkConfig(Settings, prefix="network"):
    """The model and its networks."""

    model: Literal["latent", "cells", "grounded"] = setting(
        "latent",
        "latent: an abstract state trained by value equivalence, as published (muzero2048/models/latent.py). cells: "
        "the same with one vector per cell (muzero2048/models/cells.py). grounded: a state of H*W cells with a "
        "reconstruction loss (muzero2048/models/grounded.py).",
    )
    trunk: Literal["residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3"] = setting(
        "residual_mlp",
        "Network that computes features of the tiles (muzero2048/networks/trunks.py): h of a latent model, f and psi "
        "of a grounded model.",
        only_if=HAS_TRUNK,
    )
    blocks: int = setting(
        10,
        "Number of residual blocks of the trunk, and of phi and g of a latent model; number of layers of the trunk "
        "`tuples`.",
        at_least=1,
        at_most=1000,
        only_if=f"network.model=latent|cells or {TRUNK_HAS_BLOCKS}",
    )
    width: int = setting(256, "Units of a layer, or channels of a convolution.", at_least=1, at_most=2**16)
    norm: Literal["layer", "rms"] = setting("layer", "layer: LayerNorm. rms: RMSNorm.")
    tile_levels: int = setting(
        18,
        "One-hot planes of the observation; 18 distinguish all tiles up to 131072. Games other than 2048 have a plane "
        "for each of their levels.",
        at_least=2,
        at_most=32,
        only_if="game=2048",
    )
    compute_dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Type of the layers' arithmetic; parameters and heads are always float32."
    )
    tuple_trunk: TupleTrunkConfig = group(TupleTrunkConfig, only_if=TUPLES)
    latent: LatentConfig = group(LatentConfig, only_if=LATENT)
    cells: CellsConfig = group(CellsConfig, only_if=CELLS)
    grounded: GroundedConfig = group(GroundedConfig, only_if=GROUNDED)
    value_tables: ValueTablesConfig = group(ValueTablesConfig)

    def __post_init__(self) -> None:
        if self.value_tables.shapes and self.model != "grounded":
            self.value_tables.refuse(
                "shapes", "none, or set network.model=grounded: these tuples read predicted boards"
            )

    @property
    def convolutional(self) -> bool:
        """Whether each feature belongs to a cell of the board."""
        return self.trunk == "se_resnet"
