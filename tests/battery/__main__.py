"""`python -m battery`: forge, judge, and print what became of every manipulation."""

import os
import sys
import time
from collections import Counter

from battery.judging import judge_battery
from battery.registry import battery

COLUMNS = ("named", "other", "accepted", "crashed")


def main(arguments):
    known = battery()
    ids = [name for name in known if not arguments or any(a in name for a in arguments)]
    started = time.monotonic()
    results = list(judge_battery(ids, os.cpu_count() or 1))
    for r in results:
        if r.caught != "named":
            print(f"{r.caught:9} {r.id} (wanted {known[r.id].rule}): {', '.join(r.found)}")
    print(Counter(r.caught for r in results), f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
