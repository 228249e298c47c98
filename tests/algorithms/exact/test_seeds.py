"""A recorded seed gives back the generator as it stood."""

import numpy as np
import olivine
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.exact.multinomial import RecordedSeed


@given(
    entropy=st.one_of(
        st.integers(0, 2**70), st.lists(st.integers(0, 2**32), min_size=1, max_size=3)
    ),
    before=st.integers(0, 5),
    after=st.integers(0, 5),
)
def test_the_generator_comes_back(entropy, before, after):
    rng = np.random.default_rng(entropy)
    rng.random(before)
    seed = RecordedSeed.of(rng)
    rng.random(after)
    again = seed.generator()
    again.random(after)
    assert (
        rng.integers(2**60, size=4).tolist() == again.integers(2**60, size=4).tolist()
    )
    kept = tuple(entropy) if isinstance(entropy, list) else entropy
    assert seed.entropy == kept
    assert seed.spawn_key == ()


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox])
def test_other_bit_generators_and_children(kind):
    child = np.random.SeedSequence(5).spawn(3)[2]
    rng = np.random.Generator(kind(child))
    seed = RecordedSeed.of(rng)
    assert seed.to_json() == {"entropy": 5, "spawn_key": [2]}
    assert rng.random() == seed.generator().random()


@pytest.mark.parametrize("seed", [-1, "a", 1.5, object()])
def test_what_is_no_seed_is_named(seed):
    world, one = olivine.make("lock"), olivine.Formula.from_clauses([[1]])
    for call in (
        lambda: olivine.make("lock", seed),
        lambda: olivine.learn("rmax", world, seed=seed),
        lambda: olivine.check_environment(world, seed=seed),
        lambda: olivine.evaluate(world, [], 2, seed=seed),
        lambda: olivine.verify(one, seed=seed),
        lambda: olivine.curves(world, "rmax", seeds=1, first_seed=seed),
        lambda: olivine.compare(world, "rmax", seeds=1, first_seed=seed),
    ):
        with pytest.raises(ValueError, match=r"seed: .* is no integer of at least 0"):
            call()
