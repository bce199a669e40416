"""Configuration of the networks."""

from dataclasses import dataclass
from typing import Literal

from ntuple.settings import Settings, setting

TUPLE_SHAPES = ("lines", "squares", "rects", "axes")  # tuple_embedding.py

# Conditions under which keys have an effect.
LATENT, GROUNDED = "network.model=latent", "network.model=grounded"
HAS_BLOCKS = "network.model=latent or network.trunk=residual_mlp|se_resnet|tuples"
TUPLES, TABLES = "network.trunk=tuples", "network.value_tuples!="


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
    tuples: str = setting(
        "lines squares",
        "Tuples of the trunk, words of lines, squares, rects, axes (networks/tuple_embedding.py).",
        only_if=TUPLES,
    )
    tuple_width: int = setting(8, "Units of an entry of the trunk's tables.", at_least=1, at_most=4096, only_if=TUPLES)
    action_input: Literal["append", "outer"] = setting(
        "append",
        "Input of phi. append: the state with the action appended, as published. outer: their outer product, which "
        "gives the first layer of phi its own weights for each action.",
        only_if=LATENT,
    )
    value_tuples: str = setting(
        "",
        "Tuples of an n-tuple network in the value, learned by TC (networks/value_tables.py), words as in `tuples`; "
        "empty: none.",
    )
    table_bits: int = setting(
        20,
        "log2 of the entries of a value table; 24 bits distinguish all contents of six cells.",
        at_least=16,
        at_most=24,
        only_if=TABLES,
    )
    cell_width: int = setting(16, "Units of the latent of one cell.", at_least=1, at_most=4096, only_if=GROUNDED)
    line_width: int = setting(
        128, "Hidden units of phi, the network of one line.", at_least=1, at_most=2**16, only_if=GROUNDED
    )
    compute_dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Type of the layers' arithmetic; parameters and heads stay float32."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, words in (("tuples", self.tuples.split()), ("value_tuples", self.value_tuples.split())):
            if set(words) - set(TUPLE_SHAPES) or not (words or name == "value_tuples"):
                self.refuse(name, f"some of the words {', '.join(TUPLE_SHAPES)}")
        if self.value_tuples and self.model != "grounded":
            self.refuse("value_tuples", "nothing, or set network.model=grounded: these tuples read predicted boards")

    @property
    def convolutional(self) -> bool:
        """Features keep their places on the board."""
        return self.trunk == "se_resnet"
