"""Does a compiled program compute what a call launches: D_i = A_i · B_i for each of its sets?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kit.execution import XLA_TYPES
from kit.hlo.caches import cached
from kit.hlo.census import census
from kit.hlo.dataflow import outputs
from kit.hlo.module import Array, Module, array, elements
from kit.hlo.text import MOST_REMEMBERED, parsed
from kit.hlo.values import Argument, Axis, Dimension, Factor, Lost, Product, Value, flat, sizes
from kit.number_format import NumberFormat
from kit.surfaces import Surface, element_type, inputs
from kit.workload import Workload

_ALIAS = re.compile(r"\{(\d{0,9})\}: \((\d{1,9}), \{\}, (?:may|must)-alias\)")
_ALIASES = re.compile(rf"\{{ (?:{_ALIAS.pattern}(?:, (?!\}})| (?=\}})))*+\}}")


@dataclass(frozen=True, slots=True)
class Fault:
    """Where the program departs, how, and what a call of the case asks for.

    `is_disclosed` where other device work is in the way, which the census counts.
    """

    place: str
    found: str
    required: str
    is_disclosed: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """`products`: what is wrong with the products themselves; `rotation`: with the sets they use.

    Where the arguments are not those of the case there is nothing to say about the rotation.
    """

    products: tuple[Fault, ...]
    rotation: tuple[Fault, ...]


@cached(MOST_REMEMBERED)
def prove(text: str, workload: Workload, row: NumberFormat, sets: int) -> Proof:
    """Follow the program `text` of a call that goes through `sets` buffer sets.

    Raises:
        ValueError: the text cannot be read.
    """
    found = parsed(text)
    wrong = tuple(_argument_faults(found, workload, row, sets))
    if wrong:
        return Proof(wrong, ())
    try:
        values = outputs(found, _arguments(workload, row, sets))
    except ValueError as error:
        return Proof((Fault("program", str(error), "one that can be followed"),), ())
    root = next(line for line in found.computations[found.entry] if line.is_root)
    shapes = elements(root.shape)
    if len(values) != sets or len(shapes) != sets:
        required = f"{sets}, one for each set of a call"
        return Proof((Fault("outputs", str(len(values)), required),), ())
    extra = census(text).extra
    wanted = _argument(workload, row, "d")
    products, rotation = [], []
    for number, value in enumerate(values):
        place = f"output {number}"
        problem = _why_no_product(value, shapes[number], wanted, row)
        if problem is not None:
            disclosed = isinstance(value, Lost) and value.opcode in extra
            required = "A · B of the case, over the whole of K, times one and plus nothing"
            products.append(Fault(place, problem, required, disclosed))
        elif isinstance(value, Product):
            others = [_name(argument) for argument in _read(value) if argument.set != number]
            if others:
                required = f"the buffers of set {number}"
                rotation.append(Fault(place, f"reads {', '.join(others)}", required))
    return Proof(tuple(products), (*rotation, *_alias_faults(found, sets)))


def _surfaces(row: NumberFormat) -> tuple[Surface, ...]:
    """In the order of a program's arguments: all D, all A, all B, then scales."""
    return ("d", *inputs(row))


def _axes(workload: Workload, row: NumberFormat, surface: Surface) -> tuple[Dimension, ...]:
    """A surface's axes in memory, from the outermost."""
    batch = (_axis("batch", workload.batch),) if workload.batch > 1 else ()
    if surface == "d":
        return (*batch, _axis("m", workload.m), _axis("n", workload.n))
    is_a = surface.startswith("a")
    step = row.block if surface.endswith("scale") else 1
    k = _axis("k", workload.k // step, step)
    pair = (_axis("m", workload.m), k) if is_a else (k, _axis("n", workload.n))
    transposed = workload.layout[0 if is_a else 1] == "t"
    return (*batch, *(reversed(pair) if transposed else pair))


def _axis(name: Axis, size: int, step: int = 1) -> Dimension:
    return (Factor(name, size, step),) if size > 1 else ()


def _argument(workload: Workload, row: NumberFormat, surface: Surface) -> Argument:
    """A surface's buffer in the first set."""
    kind = XLA_TYPES[element_type(row, surface)]
    return Argument(surface, 0, _axes(workload, row, surface), kind)


def _arguments(workload: Workload, row: NumberFormat, sets: int) -> list[Argument]:
    firsts = [_argument(workload, row, surface) for surface in _surfaces(row)]
    return [first._replace(set=number) for first in firsts for number in range(sets)]


def _argument_faults(
    found: Module, workload: Workload, row: NumberFormat, sets: int
) -> Iterator[Fault]:
    lines = [line for line in found.computations[found.entry] if line.opcode == "parameter"]
    numbered = {line.literal: line for line in lines}
    surfaces = _surfaces(row)
    expected = sets * len(surfaces)
    if len(lines) != expected or len(numbered) != expected:
        required = f"{expected}: {len(surfaces)} buffers of each of {sets} sets"
        yield Fault("parameters", str(len(lines)), required)
        return
    for place, surface in enumerate(surfaces):
        wanted = _argument(workload, row, surface)
        size = ",".join(map(str, sizes(wanted.axes)))
        fitting: dict[str, bool] = {}
        for number in range(place * sets, (place + 1) * sets):
            line = numbered.get(str(number))
            if line is not None and line.shape not in fitting:
                fitting[line.shape] = _lies_as(line.shape, wanted)
            if line is None or not fitting[line.shape]:
                named = f"{_title(surface)} of set {number - place * sets}"
                missing = line.shape if line else "missing"
                yield Fault(
                    f"parameter {number}", missing, f"{wanted.kind}[{size}] by rows: {named}"
                )


def _lies_as(shape: str, wanted: Argument) -> bool:
    """Whether a type is that of a surface's buffer: its elements, its sizes, row after row."""
    found = array(shape)
    size = sizes(wanted.axes)
    return found == Array(wanted.kind, size, tuple(range(len(size))))


def _alias_faults(found: Module, sets: int) -> Iterator[Fault]:
    text = found.attributes.get("input_output_alias", "{ }")
    pairs = [(output or "0", argument) for output, argument in _ALIAS.findall(text)]
    own = {(str(number), str(number)) for number in range(sets)}
    if not _ALIASES.fullmatch(text) or len(pairs) != sets or set(pairs) != own:
        where = f"{len(own - set(pairs))} of {sets} outputs elsewhere"
        yield Fault("input_output_alias", where, "each output written in place over its set's D")


def _why_no_product(value: Value, shape: str, wanted: Argument, row: NumberFormat) -> str | None:
    if isinstance(value, Lost):
        return f"comes out of {value.why}"
    if not isinstance(value, Product):
        return "is no product"
    name = value.name[:80]
    surfaces = sorted(operand.argument.surface for operand in (value.left, value.right))
    if surfaces != ["a", "b"]:
        return f"{name} multiplies {' and '.join(map(_title, surfaces))}"
    problem = None
    if row.block and not (value.left.scales and value.right.scales):
        problem = f"{name} reads no scales"
    elif any(factor.axis == "k" for axis in value.axes for factor in axis):
        problem = f"the parts of K in {name} are not added up"
    elif tuple(flat([axis]) for axis in value.axes) != wanted.axes or not _lies_as(shape, wanted):
        problem = f"{name} is given back as {shape[:80]}, which is not D[M,N] by rows"
    return problem


def _read(product: Product) -> Iterator[Argument]:
    for operand in (product.left, product.right):
        yield operand.argument
        if operand.scales is not None:
            yield operand.scales


def _title(surface: Surface) -> str:
    return f"the scales of {surface[0].upper()}" if surface.endswith("scale") else surface.upper()


def _name(argument: Argument) -> str:
    return f"{_title(argument.surface)} of set {argument.set}"
