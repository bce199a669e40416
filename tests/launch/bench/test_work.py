"""The count of a program's work equals sums computed by hand."""

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from launch.bench.work import Work, count_work
from muzero2048.networks.config import NetworkConfig
from muzero2048.networks.trunks import Tower

A, B = jnp.zeros((3, 5)), jnp.zeros((5, 7))
PRODUCT = Work(2 * 3 * 5 * 7, 4 * (3 * 5 + 5 * 7 + 3 * 7))


def work_of(function, *arguments, while_length=None):
    return count_work(jax.make_jaxpr(function)(*arguments), "cpu", while_length)


def test_a_product_and_its_gradient():
    assert work_of(jnp.matmul, A, B) == PRODUCT
    # The backward pass has one more product for each operand.
    assert work_of(jax.grad(lambda a, b: (a @ b).sum() ** 2, argnums=(0, 1)), A, B).flops == 3 * PRODUCT.flops
    assert work_of(jnp.matmul, A.astype(jnp.bfloat16), B.astype(jnp.bfloat16)) == PRODUCT._replace(
        bytes=PRODUCT.bytes / 2
    )


def test_a_batch_of_products():
    assert work_of(jnp.matmul, jnp.zeros((4, 3, 5)), jnp.zeros((4, 5, 7))) == PRODUCT.times(4)


def test_scans_count_by_their_length_and_calls_once():
    def steps(a, b):
        return jax.lax.scan(lambda x, _: (jax.jit(jnp.matmul)(x, b), None), a, length=6)

    assert (
        work_of(jax.vmap(steps, in_axes=(0, None)), jnp.zeros((2, 5, 5)), jnp.zeros((5, 5))).flops == 2 * 6 * 2 * 5**3
    )


def test_of_branches_the_largest_counts():
    def either(flag, a, b):
        return jax.lax.cond(flag, lambda: (a @ b) @ b.T, lambda: a)

    assert work_of(either, True, A, B).flops == 2 * PRODUCT.flops


def test_of_branches_for_platforms_its_own_counts():
    def by_platform(a, b):
        return jax.lax.platform_dependent(a, b, cpu=lambda a, b: a, cuda=lambda a, b: a @ b @ b.T, default=jnp.dot)

    jaxpr = jax.make_jaxpr(by_platform)(A, jnp.zeros((5, 5)))
    works = [count_work(jaxpr, platform).flops for platform in ("cpu", "tpu", "gpu", "cuda")]
    assert works == [0.0, 2 * 3 * 5 * 5, *2 * [2 * (2 * 3 * 5 * 5)]]


def test_the_length_of_a_while_loop_must_be_given_where_it_matters():
    def loop(count, a, b):
        return jax.lax.fori_loop(0, count, lambda _, x: x + a @ b, jnp.zeros((3, 7)))

    with pytest.raises(ValueError, match="give the passes"):
        work_of(loop, 4, A, B)
    assert work_of(loop, 4, A, B, while_length=4) == PRODUCT.times(4)
    assert work_of(lambda count: jax.lax.fori_loop(0, count, lambda _, x: 2 * x, 1.0), 4) == Work(0, 0)


def test_what_no_result_needs_does_not_count():
    @jax.jit
    def both(a, b):
        return a @ b, b @ b.T

    assert work_of(lambda a, b: jax.lax.map(lambda x: both(x, b)[0], a), A[None], B) == PRODUCT


@pytest.mark.parametrize("trunk", ["residual_mlp", "se_resnet"])
def test_a_tower_of_the_project(trunk):
    """Sum the work of the layers of muzero2048/networks/trunks.py by hand.

    The backward pass takes twice the work of the forward pass, without the gradient of the input.
    """
    network = NetworkConfig(trunk=trunk, blocks=2, width=32)
    tower = Tower(10, network, nnx.Rngs(0))
    batch = 6
    if trunk == "se_resnet":
        x, stem = jnp.zeros((batch, 4, 4, 10)), 16 * 9 * 10 * 32
        block = 2 * 16 * 9 * 32 * 32 + 2 * 32 * 2
    else:
        x, stem = jnp.zeros((batch, 10)), 10 * 32
        block = 2 * 32 * 32
    forward = 2 * batch * (stem + 2 * block)
    graphdef, params = nnx.split(tower)
    assert work_of(lambda params: nnx.merge(graphdef, params)(x), params).flops == forward
    gradient = jax.grad(lambda params: (nnx.merge(graphdef, params)(x) ** 2).sum())
    assert work_of(gradient, params).flops == 3 * forward - 2 * batch * stem
