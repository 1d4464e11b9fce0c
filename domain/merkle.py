"""Merkle tree hash, inclusion and consistency proofs (RFC 6962 section 2.1, RFC 9162 section 2.1).

Hashing separates leaves (``0x00``) from nodes (``0x01``). ``Frontier`` is the compact range of a growing log: the
roots of its perfect subtrees, largest first; one append costs O(log n) and on average two hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

HASH_BYTES = 32
_sha256 = hashlib.sha256


def leaf_hash(data: bytes) -> bytes:
    """Hash of a leaf's bytes."""
    return _sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of an inner node."""
    return _sha256(b"\x01" + left + right).digest()


def root(hashes: Sequence[bytes]) -> bytes:
    """Root over leaf hashes; of nothing it is SHA-256 of nothing."""
    if not hashes:
        return _sha256(b"").digest()
    level = list(hashes)
    while len(level) > 1:
        pairs = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        if len(level) % 2:
            pairs.append(level[-1])
        level = pairs
    return level[0]


class Frontier:
    """Append-only accumulator; ``state()`` is what a store keeps."""

    __slots__ = ("nodes", "size")

    def __init__(self, size: int = 0, state: bytes = b"") -> None:
        if len(state) != HASH_BYTES * size.bit_count():
            message = f"a frontier of {size} leaves has {size.bit_count()} nodes, not {len(state)} bytes"
            raise ValueError(message)
        self.size = size
        self.nodes = [state[i : i + HASH_BYTES] for i in range(0, len(state), HASH_BYTES)]

    def append(self, leaf: bytes) -> None:
        """Add a leaf hash."""
        self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add leaf hashes."""
        size, nodes = self.size, self.nodes
        for added in leaves:
            leaf, carry = added, size
            while carry & 1:
                leaf = _sha256(b"\x01" + nodes.pop() + leaf).digest()
                carry >>= 1
            nodes.append(leaf)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """Root of all leaves so far."""
        if not self.nodes:
            return _sha256(b"").digest()
        result = self.nodes[-1]
        for left in reversed(self.nodes[:-1]):
            result = node_hash(left, result)
        return result

    def state(self) -> bytes:
        """Node hashes joined, largest subtree first."""
        return b"".join(self.nodes)


def root_of(size: int, state: bytes) -> bytes:
    """Root of the log whose frontier ``state`` is; ``ValueError`` when it is of another size."""
    return Frontier(size, state).root()


def _split(size: int) -> int:
    """Largest power of two smaller than ``size`` (size ≥ 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(index: int, hashes: Sequence[bytes]) -> list[bytes]:
    """Audit path of leaf ``index`` (0-based) in the tree over ``hashes``."""
    if not 0 <= index < len(hashes):
        message = f"no leaf {index} in a tree of {len(hashes)}"
        raise ValueError(message)
    if len(hashes) == 1:
        return []
    k = _split(len(hashes))
    if index < k:
        return [*inclusion_proof(index, hashes[:k]), root(hashes[k:])]
    return [*inclusion_proof(index - k, hashes[k:]), root(hashes[:k])]


def consistency_proof(old_size: int, hashes: Sequence[bytes]) -> list[bytes]:
    """Proof that the tree of the first ``old_size`` leaves is a prefix of the tree over ``hashes``."""
    if not 0 < old_size <= len(hashes):
        message = f"no tree of {old_size} within {len(hashes)}"
        raise ValueError(message)
    return _subproof(old_size, hashes, whole=True)


def _subproof(old_size: int, hashes: Sequence[bytes], *, whole: bool) -> list[bytes]:
    if old_size == len(hashes):
        return [] if whole else [root(hashes)]
    k = _split(len(hashes))
    if old_size <= k:
        return [*_subproof(old_size, hashes[:k], whole=whole), root(hashes[k:])]
    return [*_subproof(old_size - k, hashes[k:], whole=False), root(hashes[:k])]


def verify_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes], expected: bytes) -> bool:
    """True if ``leaf`` (a leaf hash) stands at ``index`` in the tree of ``size`` with root ``expected``."""
    if not 0 <= index < size:
        return False
    fn, sn, result = index, size - 1, leaf
    for step in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            result = node_hash(step, result)
            while fn and not fn & 1:
                fn >>= 1
                sn >>= 1
        else:
            result = node_hash(result, step)
        fn >>= 1
        sn >>= 1
    return sn == 0 and result == expected


def verify_consistency(
    old_size: int, new_size: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes
) -> bool:
    """True if the tree of ``new_size`` extends the tree of ``old_size`` without changing it."""
    if not 0 < old_size <= new_size:
        return False
    if old_size == new_size:
        return not proof and old_root == new_root
    path = list(proof)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    if not path:
        return False
    fn, sn = old_size - 1, new_size - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    first = second = path[0]
    for step in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            first, second = node_hash(step, first), node_hash(step, second)
            while fn and not fn & 1:
                fn >>= 1
                sn >>= 1
        else:
            second = node_hash(second, step)
        fn >>= 1
        sn >>= 1
    return sn == 0 and first == old_root and second == new_root
