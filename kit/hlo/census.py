"""What an optimised HLO module does: its GEMMs, and every other piece of device work (clause M04).

Works on text alone, so that the runner's gate and the checker read the same evidence.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kit.hlo.bodies import Bodies, CountedProduct, counted, is_scalar
from kit.hlo.caches import cached
from kit.hlo.module import Instruction, Module
from kit.hlo.products import DOTS, Multiplication, multiplication
from kit.hlo.text import MOST_REMEMBERED, parsed

_CUDNN = re.compile(r'"kind":"__cudnn\$')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d{1,9})"')


@dataclass(frozen=True, slots=True)
class Census:
    """What one call of the executable does.

    `gemms` counts products by what runs them (`__cublas$lt$matmul`, `fusion`, `dot`); `products`
    are what runs them with the element types of A and B they read. `precisions` are those that
    products ask for, such as `HIGHEST`; `algorithms` those that they fix, such as
    `DOT_TF32_TF32_F32`, with "" for a product that fixes none. `flops` counts their operations,
    2·M·N·K·batch each; None where the text does not tell the sizes. `extra` counts every other
    piece of device work by opcode, inside GEMM fusions too. `loop_control` counts the work on a
    loop's scalar counter, which a device loop cannot do without. A loop's body counts once for
    each trip; `written` are the products without that, as many as a program needs for its outputs.
    """

    gemms: dict[str, int]
    products: frozenset[tuple[str, str, str]]
    precisions: frozenset[str]
    algorithms: frozenset[str]
    flops: int | None
    extra: dict[str, int]
    loop_control: int = 0
    written: int = 0

    @property
    def gemm_count(self) -> int:
        """Products in one call."""
        return sum(self.gemms.values())


@cached(MOST_REMEMBERED)
def census(text: str) -> Census:
    """Count the GEMMs and all other work of one call.

    However often a computation is called it is read once, so that the time is that of the text's
    length.

    Raises:
        ValueError: the text is not an HLO module, or a loop's trips are not known from it.
    """
    found = parsed(text)
    bodies = Bodies(found.computations)
    runs = ((found.entry, 1), *loops(found))
    tally = _counted(found, bodies, runs)
    once = _counted(found, bodies, [(name, 1) for name, _ in runs])
    products = tally.products
    return Census(
        dict(tally.gemms),
        frozenset((product.kind, *product.types) for product in products),
        frozenset(name for product in products for name in product.precisions),
        frozenset(product.algorithm for product in products),
        tally.flops,
        tally.extra(),
        tally.loop_control,
        sum(once.gemms.values()),
    )


def _counted(found: Module, bodies: Bodies, runs: Iterable[tuple[str, int]]) -> "_Tally":
    """Everything in computations that run so many times, and in what they call."""
    tally = _Tally(bodies)
    calls: Counter[str] = Counter()
    for name, times in runs:
        for called, count in tally.add_all(name, times).items():
            calls[called] += times * count
    for name, times in calls.items():
        # XLA's expansion of a scaled product is a call. One inside it is counted as such.
        is_there = name in found.computations
        tally.add_calls(tally.add_all(name, times).total() * times if is_there else times)
    return tally


def loops(found: Module) -> Iterator[tuple[str, int]]:
    """Name of the loop's body and how often it runs, if the entry has a loop.

    One is all that a device loop needs. A second one, or one inside it, would only be a way to make
    a reader go through the same text again and again.

    Raises:
        ValueError: there are more, or the text does not say how often the body runs.
    """
    whiles = [line for line in found.computations[found.entry] if line.opcode == "while"]
    if not whiles:
        return
    body = whiles[0].attributes.get("body", "").lstrip("%")
    trips = _TRIPS.search(whiles[0].attributes.get("backend_config", ""))
    if trips is None or body not in found.computations:
        raise ValueError("a loop has no known number of trips")
    if len(whiles) > 1 or any(line.opcode == "while" for line in found.computations[body]):
        raise ValueError("more than one loop")
    yield body, int(trips[1])


@dataclass(slots=True)
class _Tally:
    """What has been counted; fusions by name, so that each body is added up once in the end."""

    bodies: Bodies
    gemms: Counter[str] = field(default_factory=Counter)
    products: set[CountedProduct] = field(default_factory=set)
    flops: int | None = 0
    loop_control: int = 0
    _own: Counter[str] = field(default_factory=Counter)
    _called: Counter[str] = field(default_factory=Counter)

    def add_all(self, name: str, times: int) -> Counter[str]:
        """Count a computation that runs line by line; returns what its `call` lines name."""
        work = self.bodies.work(name)
        calls: Counter[str] = Counter()
        for instruction, count in work.lines:
            if instruction.opcode == "call":
                calls[instruction.called() or ""] += count
            elif instruction.opcode != "while":
                self._add(instruction, work.shapes, times * count)
        return calls

    def add_calls(self, times: int) -> None:
        """Count calls that are not entered."""
        self._own["call"] += times

    def _add(self, instruction: Instruction, shapes: Mapping[str, str], times: int) -> None:
        if instruction.opcode == "fusion":
            self._add_fusion(instruction, shapes, times)
            return
        found = multiplication(instruction)
        if found is not None:
            self._add_product(counted(found.kind, found, instruction, shapes), times)
        elif is_scalar(instruction, shapes):
            self.loop_control += times
        else:
            self._own[instruction.opcode] += times

    def _add_fusion(self, instruction: Instruction, shapes: Mapping[str, str], times: int) -> None:
        called, bodies = instruction.called() or "", self.bodies
        dots = sum(bodies.count(called, opcode) for opcode in DOTS)
        if dots == 1 and bodies.count(called, "multiply") and _CUDNN.search(instruction.text):
            # The body says what the scales mean; cuDNN runs one kernel for all of it.
            whole = Multiplication("__cudnn$", None, (), "")
            self._add_product(counted("__cudnn$", whole, instruction, shapes), times)
            return
        product = bodies.dot(called) if dots == 1 else None
        if product is not None:
            self._add_product(product, times)
            self._own[bodies.opcode_of_dot(called)] -= times
        elif is_scalar(instruction, shapes):
            self.loop_control += times
            return
        elif not bodies.works(called):
            self._own["fusion"] += times
        self._called[called] += times

    def _add_product(self, product: CountedProduct, times: int) -> None:
        self.gemms[product.kind] += times
        self.products.add(product)
        if self.flops is not None:
            self.flops = None if product.flops is None else self.flops + times * product.flops

    def extra(self) -> dict[str, int]:
        """All other work by opcode."""
        work, inner = Counter(self._own), Counter[str]()
        for name, times in self._called.items():
            body = self.bodies.body(name)
            work.update({opcode: times * count for opcode, count in body.own.items()})
            inner.update({called: times * count for called, count in body.fusions.items()})
        for name, times in inner.items():
            flat = self.bodies.body(name).flat
            work.update({opcode: times * count for opcode, count in flat.items()})
        return {opcode: count for opcode, count in work.items() if count}
