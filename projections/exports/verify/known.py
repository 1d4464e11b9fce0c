"""SHA-256 of the page's own files in every release, so that a bundle can't bring a page that lies.

A release that changes a file adds its hash and keeps the old ones: bundles of earlier releases still verify.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, frozenset[str]] = {
    "README-VERIFY.txt": frozenset(
        {
            "c3d370756d31673aa6fb8e569d148ba7a5cb13b62aeb2d4bac41dd208d241671",
        }
    ),
    "data/index.html": frozenset(
        {
            "a241c351fd9b77ec05cc121f690751154efb22976c243d209e1c01b6ae7491dc",
        }
    ),
    "data/page/app.js": frozenset(
        {
            "36c7fc5c07c1466a4deee76a4f57477fa1bb5b0dfa69f464ac0e982d3b34ee11",
        }
    ),
    "data/page/style.css": frozenset(
        {
            "fe10d832521a22a24c5eab4147463bb81dd6bb4109ad33734cf4f0da6a7df68a",
        }
    ),
    "data/page/words.js": frozenset(
        {
            "72cbd8302a27f89b5c6a60f25e62ba1e609e56ce08e723470f66b94cc6632bf1",
        }
    ),
}
