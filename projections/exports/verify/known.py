"""SHA-256 of the page's own files in every release, so that a bundle can't bring a page that lies.

A release that changes a file adds its hash and keeps the old ones: bundles of earlier releases still verify.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, frozenset[str]] = {
    "README-VERIFY.txt": frozenset(
        {
            "3c0537cf2dc55eb37f63a6522dfb69df3baefca307bb42ddae7b478d16e90d4c",
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
            "2d666b61ff6b21c6d43d9f24fbd24c31e8b45b0c426d16eea64399440276a35f",
            "b4649057216cdca1dede4b90de02616a6344d229742313d11b36988f9105a287",
            "71166c72ec6f512bd4771393f8dd9062b37551fd64d274dc026364329d28b669",
        }
    ),
    "data/page/style.css": frozenset(
        {
            "276a8fb170a5e5793ae181198d5e77ffaa90156d5c056c9cd7c64d29773a8e27",
        }
    ),
    "data/page/words.js": frozenset(
        {
            "de69790c57613d57eb314719b4d776d30c0941f374599ab5a50fa845324de966",
            "8126c11bd0344a4dd7651b5d7132a8501e980950b729ceaa4d8fc035c65b070c",
            "73783c7ca2aa1617be2f1b458f116e766802e36c66399085d57ccd67ed85b0ed",
            "6ba26c2ea142eae59de8c9f012358e31ad47c5e139d55923d598e715e9369ca1",
            "c5392efd04aba678a4ce94859a1689514c4bbba4d23dc7432bf7206580eea89e",
            "5d21f8bf7efe962e73bd1e9b5e2be2cd90cf49dfb47bcc94aed0786ca96948ba",
            "9b5dbb5531778545229925a4bb4b9cd140ff29ebdfb2c6058d569ccd7060d65d",
        }
    ),
}
