"""Configuration of the networks."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ntuple.settings import Settings, group, setting

TUPLE_SHAPES = ("lines", "squares", "rects", "axes")  # tuple_embedding.py

SHAPES = f"some of the names {', '.join(TUPLE_SHAPES)}"

# Conditions under which keys have an effect.
LATENT, GROUNDED = "network.model=latent", "network.model=grounded"
HAS_BLOCKS = "network.model=latent or network.trunk=residual_mlp|se_resnet|tuples"
TUPLES, TABLES = "network.trunk=tuples", "network.value_tables.shapes!="


@dataclass(frozen=True)
class TupleTrunkConfig(Settings, prefix="network.tuple_trunk"):
    """The trunk `tuples`: table entries of tuples of cells (tuple_embedding.py)."""

    shapes: tuple[str, ...] = setting(("lines", "squares"), "Shapes of the tuples: lines, squares, rects, axes.")
    width: int = setting(8, "Units of a table entry.", at_least=1, at_most=4096)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shapes or set(self.shapes) - set(TUPLE_SHAPES):
            self.refuse("shapes", SHAPES)


@dataclass(frozen=True)
class LatentConfig(Settings, prefix="network.latent"):
    """The latent model (models/latent.py)."""

    action_input: Literal["append", "outer"] = setting(
        "append",
        "Input of phi. append: the state with the action appended, as published. outer: their outer product, which "
        "gives the first layer of phi its own weights for each action.",
    )


@dataclass(frozen=True)
class GroundedConfig(Settings, prefix="network.grounded"):
    """The grounded model (models/grounded.py)."""

    cell_width: int = setting(16, "Units of the latent of one cell.", at_least=1, at_most=4096)
    line_width: int = setting(128, "Hidden units of phi, the network of one line.", at_least=1, at_most=2**16)


@dataclass(frozen=True)
class ValueTablesConfig(Settings, prefix="network.value_tables"):
    """An n-tuple network in the value of a grounded model, learned by TC (value_tables.py)."""

    shapes: tuple[str, ...] = setting((), "Shapes of the tuples: lines, squares, rects, axes; empty: no value tables.")
    bits: int = setting(
        20,
        "log2 of the entries of a value table; 24 bits distinguish all contents of six cells.",
        at_least=16,
        at_most=24,
        only_if=TABLES,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.shapes) - set(TUPLE_SHAPES):
            self.refuse("shapes", SHAPES)


@dataclass(frozen=True)
class NetworkConfig(Settings, prefix="network"):
    """The model and the networks that it is made of."""

    model: Literal["latent", "grounded"] = setting(
        "latent",
        "latent: an abstract state trained by value equivalence, as published (models/latent.py). grounded: a state of "
        "H*W cells and a reconstruction loss (models/grounded.py).",
    )
    trunk: Literal["residual_mlp", "se_resnet", "tuples", "cnn_2x2", "cnn_3x3"] = setting(
        "residual_mlp",
        "Network from the tiles to features (networks/trunks.py): h of a latent model, f and psi of a grounded one.",
    )
    blocks: int = setting(
        10,
        "Residual blocks of the trunk, and of phi and g of a latent model; layers of the trunk tuples.",
        at_least=1,
        at_most=1000,
        only_if=HAS_BLOCKS,
    )
    width: int = setting(256, "Units of a layer, or channels of a convolution.", at_least=1, at_most=2**16)
    norm: Literal["layer", "rms"] = setting("layer", "LayerNorm or RMSNorm.")
    tile_levels: int = setting(
        18, "One-hot planes of the observation; 18 show every tile up to 131072.", at_least=2, at_most=32
    )
    compute_dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Type of the layers' arithmetic; parameters and heads stay float32."
    )
    tuple_trunk: TupleTrunkConfig = group(TupleTrunkConfig, only_if=TUPLES)
    latent: LatentConfig = group(LatentConfig, only_if=LATENT)
    grounded: GroundedConfig = group(GroundedConfig, only_if=GROUNDED)
    value_tables: ValueTablesConfig = group(ValueTablesConfig)

    former_keys: ClassVar[dict[str, str]] = {
        "tuples": "tuple_trunk.shapes", "tuple_width": "tuple_trunk.width", "action_input": "latent.action_input",
        "cell_width": "grounded.cell_width", "line_width": "grounded.line_width",
        "value_tuples": "value_tables.shapes", "table_bits": "value_tables.bits",
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value_tables.shapes and self.model != "grounded":
            self.value_tables.refuse(
                "shapes", "none, or set network.model=grounded: these tuples read predicted boards"
            )

    @property
    def convolutional(self) -> bool:
        """Whether features keep their places on the board."""
        return self.trunk == "se_resnet"
