"""Attribution over at least 5,000 differences whose cause is known: a confusion matrix, and who was blamed wrongly.

``python -m tests.benchmarks.attribution [breaks]``. The aim: nobody named who did not cause it, at least 98 % right
causes where the evidence allows a decision, and undecidable exactly where decisive evidence was withheld. The months
are made by ``tests.support.scenarios``: causes alone and combined, evidence withheld at random, files that lost a line.
"""

from __future__ import annotations

import sys
import time

from tests.support.score import NOTHING, UNDECIDED, Score, measure

DEFAULT_BREAKS = 5_000


def table(score: Score) -> str:
    """Rows are true causes, columns what was found; a cell without a figure is zero."""
    truths = sorted({truth for truth, _ in score.matrix}, key=_last)
    founds = sorted({found for _, found in score.matrix}, key=_last)
    letters = {found: chr(ord("a") + place) for place, found in enumerate(founds)}
    rows = [f"{'true cause':40}" + "".join(f"{letters[found]:>6}" for found in founds)]
    for truth in truths:
        cells = (score.matrix.get((truth, found), 0) for found in founds)
        rows.append(f"{truth:40}" + "".join(f"{cell or '·':>6}" for cell in cells))
    rows += [f"  {letters[found]} = {found}" for found in founds]
    return "\n".join(rows)


def _last(name: str) -> tuple[bool, str]:
    return name in {UNDECIDED, NOTHING}, name


def main(breaks: int = DEFAULT_BREAKS) -> None:
    """Make the months, judge them, print."""
    start = time.process_time()
    score = measure(breaks=breaks)
    spent = time.process_time() - start
    print(table(score))
    share = 100 * score.right_cause / score.decidable
    print(f"differences          {score.breaks}, {score.decidable} of them decidable, {score.proven} proven")
    print(f"right cause          {share:.2f} % of the decidable (aim 98 %)")
    print(f"wrong blame          {len(score.wrong_blame)} (aim 0)")
    print(f"culprit not named    {len(score.unnamed)}")
    print(f"decided without      {len(score.overconfident)} (aim 0)")
    print(f"undecided with       {len(score.timid)}")
    print(f"not found or invented {len(score.unexpected)}")
    print(f"processor            {spent:.1f} s, making the months included")
    for kind in ("wrong_blame", "overconfident", "unexpected", "timid", "unnamed"):
        for where in getattr(score, kind)[:5]:
            print(f"  {kind}: {where}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
