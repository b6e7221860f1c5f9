"""Coverage-guided fuzzing of the checker: `make fuzz`, or `python -m fuzz LIBFUZZER_OPTION...`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["kit"]):
    from fuzz.properties import judged_sealed


def main() -> None:
    """Fuzz until libFuzzer's own options say to stop; a property that breaks ends it at once."""
    with TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, lambda data: judged_sealed(Path(folder), data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
