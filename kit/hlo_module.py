"""The text of an HLO module as computations and their instructions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of a computation: result name and type, opcode, and the rest of the line."""

    name: str
    shape: str
    opcode: str
    rest: str


def computations(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """All computations by name, and the entry's name.

    Raises:
        ValueError: the text has no entry computation.
    """
    found: dict[str, list[Instruction]] = {}
    entry = ""
    current: list[Instruction] | None = None
    for line in text.splitlines():
        if current is None:
            if line.endswith("{") and "->" in line and not line.startswith("HloModule"):
                words = line.split(None, 2)
                is_entry = words[0] == "ENTRY"
                name = words[1 if is_entry else 0].lstrip("%")
                entry = name if is_entry else entry
                current = found.setdefault(name, [])
        elif line.startswith("}"):
            current = None
        else:
            instruction = _instruction(line)
            if instruction is not None:
                current.append(instruction)
    if not entry:
        raise ValueError("no ENTRY computation")
    return found, entry


def _instruction(line: str) -> Instruction | None:
    left, separator, right = line.strip().removeprefix("ROOT ").partition(" = ")
    if not separator:
        return None
    shape, rest = _split_shape(right)
    opcode, separator, arguments = rest.partition("(")
    if not separator:
        return None
    return Instruction(left.lstrip("%"), shape, opcode.strip(), arguments)


def _split_shape(text: str) -> tuple[str, str]:
    if not text.startswith("("):
        shape, _, rest = text.partition(" ")
        return shape, rest
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[: place + 1], text[place + 1 :].strip()
    return text, ""
