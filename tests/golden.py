"""What each committed bundle's verdict was when its edition was made.

`python tests/golden.py` writes `tests/data/golden/<edition>/` anew: only for a new bundle or a new
edition, never to make a test pass.
"""

import json
from pathlib import Path

from kit.bundle.reader import parse, read_container
from kit.checker.judge import judge
from kit.checker.recomputed import recompute

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests/data/golden"
BUNDLES = {
    path.parent.name: path.parent for path in sorted((ROOT / "submissions").rglob("bagit.txt"))
}


def verdict_of(path):
    """The verdict, every rule's outcome, and the figures of every run to six digits."""
    verdict = judge(path)
    return {
        "edition": verdict.edition,
        "verdict": verdict.judgement,
        "rules": {result.code: result.outcome for result in verdict.rules},
        "figures": {
            f"{entry.run.case.id}, {entry.metrics.device}, run {entry.metrics.number}": {
                name: float(f"{value:.6g}")
                for name in ("mean_period_ns", "flops_per_s", "sol_fraction", "power_average_mw")
                if (value := getattr(entry.metrics, name)) is not None
            }
            for case in recompute(parse(read_container(path)))
            for entry in case.runs
            if entry.metrics is not None
        },
    }


if __name__ == "__main__":
    for name, path in BUNDLES.items():
        found = verdict_of(path)
        place = GOLDEN / found["edition"] / f"{name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(place.relative_to(ROOT))
