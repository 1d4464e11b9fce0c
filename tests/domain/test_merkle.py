"""RFC 6962 trees: the frontier, the proofs, and their refusal of anything else."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.merkle import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

LEAVES = [leaf_hash(bytes([number])) for number in range(70)]
SIZES = st.integers(1, 70)

# Vectors of RFC 6962's reference implementation (certificate-transparency, merkletree tests).
REFERENCE_INPUTS = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
REFERENCE_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def test_roots_are_those_of_the_reference_implementation() -> None:
    hashes = [leaf_hash(bytes.fromhex(text)) for text in REFERENCE_INPUTS]
    assert [root(hashes[: size + 1]).hex() for size in range(8)] == REFERENCE_ROOTS
    assert root([]) == hashlib.sha256(b"").digest()


def test_leaves_and_nodes_are_hashed_apart() -> None:
    assert leaf_hash(LEAVES[0] + LEAVES[1]) != node_hash(LEAVES[0], LEAVES[1])


@given(SIZES)
def test_a_frontier_has_the_root_of_all_its_leaves(size: int) -> None:
    frontier = Frontier()
    for leaf in LEAVES[:size]:
        frontier.append(leaf)
    assert (frontier.size, frontier.root()) == (size, root(LEAVES[:size]))


@given(SIZES, SIZES)
def test_a_frontier_goes_on_from_its_stored_state(first: int, second: int) -> None:
    low, high = sorted((first, second))
    frontier = Frontier()
    for leaf in LEAVES[:low]:
        frontier.append(leaf)
    again = Frontier(frontier.size, frontier.state())
    for leaf in LEAVES[low:high]:
        again.append(leaf)
    assert again.root() == root(LEAVES[:high])


def test_an_empty_frontier_has_the_root_of_nothing() -> None:
    assert Frontier().root() == root([])


@pytest.mark.parametrize(("size", "state"), [(1, b""), (0, b"x" * 32), (3, b"x" * 32), (4, b"x" * 31)])
def test_a_state_that_does_not_fit_its_size_is_refused(size: int, state: bytes) -> None:
    with pytest.raises(ValueError, match="a frontier of"):
        Frontier(size, state)


@given(SIZES, st.data())
def test_every_leaf_is_proven_at_its_place_and_at_no_other(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    hashes = LEAVES[:size]
    proof, top = inclusion_proof(index, hashes), root(hashes)
    assert verify_inclusion(index, size, hashes[index], proof, top)
    assert not verify_inclusion(index, size, leaf_hash(b"another"), proof, top)
    for other in {0, size // 2, size - 1} - {index}:
        assert not verify_inclusion(other, size, hashes[index], proof, top)
    assert not verify_inclusion(index, size, hashes[index], [*proof, LEAVES[0]], top)
    if proof:
        assert not verify_inclusion(index, size, hashes[index], proof[:-1], top)


@given(SIZES, SIZES, st.data())
def test_a_longer_log_is_proven_to_continue_the_shorter(first: int, second: int, data: st.DataObject) -> None:
    low, high = sorted((first, second))
    old, new = root(LEAVES[:low]), root(LEAVES[:high])
    proof = consistency_proof(low, LEAVES[:high])
    assert verify_consistency(low, high, proof, old, new)
    assert not verify_consistency(low, high, [*proof, LEAVES[0]], old, new)
    if low < high:
        assert not verify_consistency(low, high, proof, leaf_hash(b"another"), new)
        assert not verify_consistency(low, high, proof, old, leaf_hash(b"another"))
        at = data.draw(st.integers(0, len(proof) - 1))
        flipped = [*proof[:at], bytes([proof[at][0] ^ 1]) + proof[at][1:], *proof[at + 1 :]]
        assert not verify_consistency(low, high, flipped, old, new)
        assert not verify_consistency(low, high, [], old, new)


@given(st.integers(2, 70), st.data())
def test_a_rewritten_log_cannot_be_proven_consistent(size: int, data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, size - 2))
    old_size = data.draw(st.integers(changed + 1, size - 1))
    rewritten = [*LEAVES[:changed], leaf_hash(b"rewritten"), *LEAVES[changed + 1 : size]]
    proof = consistency_proof(old_size, rewritten)
    assert not verify_consistency(old_size, size, proof, root(LEAVES[:old_size]), root(rewritten))


def test_the_same_log_needs_no_proof_and_gets_none() -> None:
    top = root(LEAVES[:5])
    assert consistency_proof(5, LEAVES[:5]) == []
    assert verify_consistency(5, 5, [], top, top)
    assert not verify_consistency(5, 5, [LEAVES[0]], top, top)
    assert not verify_consistency(5, 5, [], top, root(LEAVES[:4]))


@pytest.mark.parametrize(("old", "new"), [(0, 3), (4, 3), (-1, 3)])
def test_sizes_out_of_order_prove_nothing(old: int, new: int) -> None:
    assert not verify_consistency(old, new, [], root([]), root(LEAVES[:new]))
    with pytest.raises(ValueError, match="no tree"):
        consistency_proof(old, LEAVES[:new])


@pytest.mark.parametrize("index", [-1, 3])
def test_a_leaf_beyond_the_log_has_no_proof(index: int) -> None:
    assert not verify_inclusion(index, 3, LEAVES[0], [], root(LEAVES[:3]))
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_proof(index, LEAVES[:3])


def test_an_append_costs_two_hashes_on_average() -> None:
    frontier, nodes = Frontier(), []
    for leaf in LEAVES[:64]:
        frontier.append(leaf)
        nodes.append(len(frontier.nodes))
    assert max(nodes) <= 6
    assert all(after <= before + 1 for before, after in pairwise(nodes))
