"""`python -m kit` is `gemm-kit`, and imports nothing from the folder it is started in.

Python puts that folder first on its path, and an auditor may well stand in a stranger's. Only where
the kit itself was found there, in a checkout, does it stay. `kit` has been found by then: in a
folder that nobody should be in, start `gemm-kit`.
"""

import os
import sys

if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):  # noqa: PTH120 - nothing may be imported yet
    del sys.path[0]

from kit.cli import main

if __name__ == "__main__":
    sys.exit(main())
