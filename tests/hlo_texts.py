"""Optimised HLO as XLA prints it, for any case: cuBLASLt calls on a GPU, plain dots on a CPU."""

from kit.execution import XLA_TYPES
from kit.number_format import number_format


def library_gemms(case, gemms, *, precision="DEFAULT", algorithm="ALG_UNSET"):
    """`gemms` cuBLASLt products written in place over donated outputs."""
    lines = _library_calls(case, gemms, precision, algorithm)
    if gemms == 1:
        lines[-1] = lines[-1].replace("%out", "ROOT %out")
    return _module(case, gemms, [*_ones(case), *lines])


def _ones(case):
    return ["  %one = f32[] constant(1)"] if _shapes(case)[1].startswith("f8") else []


def _library_calls(case, gemms, precision="DEFAULT", algorithm="ALG_UNSET"):
    d, a, _ = _shapes(case)
    config = (
        f'{{"gemm_backend_config":{{"alpha_imag":0,"alpha_real":1,"beta":0,{_dimensions(case)},'
        f'"epilogue":"DEFAULT","precision_config":{{"algorithm":"{algorithm}",'
        f'"operand_precision":["{precision}","{precision}"]}},"selected_algorithm":"0"}}}}'
    )
    target, more = ("$f8", ", %one, %one") if a.startswith("f8") else ("", "")
    lines = []
    for i in range(gemms):
        lines.append(
            f"  %cublas.{i} = ({d}, s8[33554432]{{0}}) custom-call(%a.{i}, %b.{i}{more}), "
            f'custom_call_target="__cublas$lt$matmul{target}", backend_config={config}'
        )
        lines.append(f"  %out.{i} = {d} get-tuple-element(%cublas.{i}), index=0")
    return lines


def looped_gemms(case, sets, trips):
    """`sets` cuBLASLt products, repeated in a loop of `trips` over a counter."""
    d, a, b = _shapes(case)
    carried = ", ".join(["s32[]", *[d] * sets, *[a] * sets, *[b] * sets])
    calls = "\n".join(_ones(case) + _library_calls(case, sets))
    parameters = "\n".join(
        f"  %{name}.{i} = {shape} get-tuple-element(%state), index={1 + offset * sets + i}"
        for offset, (name, shape) in enumerate((("d", d), ("a", a), ("b", b)))
        for i in range(sets)
    )
    names = ", ".join(f"%{name}.{i}" for name in ("out", "a", "b") for i in range(sets))
    body = f"""%wrapped_add (count: s32[]) -> s32[] {{
  %count = s32[] parameter(0)
  %one = s32[] constant(1)
  ROOT %sum = s32[] add(%count, %one)
}}

%body (state: ({carried})) -> ({carried}) {{
  %state = ({carried}) parameter(0)
  %count.1 = s32[] get-tuple-element(%state), index=0
{parameters}
{calls}
  %next = s32[] fusion(%count.1), kind=kLoop, calls=%wrapped_add
  ROOT %carried = ({carried}) tuple(%next, {names})
}}

%less (state: ({carried})) -> pred[] {{
  %state = ({carried}) parameter(0)
  %count.2 = s32[] get-tuple-element(%state), index=0
  %most = s32[] constant({trips})
  ROOT %goes_on = pred[] compare(%count.2, %most), direction=LT
}}

"""
    trip_count = f'backend_config={{"known_trip_count":{{"n":"{trips}"}}}}'
    loop = [
        "  %zero = s32[] constant(0)",
        "  %start = s32[] copy(%zero)",
        f"  %first = ({carried}) tuple(%start, {names.replace('out', 'd')})",
        f"  %loop = ({carried}) while(%first), condition=%less, body=%body, {trip_count}",
        *(f"  %out.{i} = {d} get-tuple-element(%loop), index={1 + i}" for i in range(sets)),
    ]
    return _module(case, sets, loop).replace("ENTRY", body + "ENTRY")


def _dimensions(case):
    batched = case.workload.batch > 1
    batch = '["0"]' if batched else "[]"
    k_of_a, k_of_b = (
        batched + (case.workload.layout[0] == "n"),
        batched + (case.workload.layout[1] == "t"),
    )
    return (
        f'"dot_dimension_numbers":{{"lhs_batch_dimensions":{batch},'
        f'"lhs_contracting_dimensions":["{k_of_a}"],"rhs_batch_dimensions":{batch},'
        f'"rhs_contracting_dimensions":["{k_of_b}"]}}'
    )


def plain_dots(case, gemms):
    """`gemms` dots written in place over donated outputs."""
    d, _, _ = _shapes(case)
    batched = case.workload.batch > 1
    sides = []
    for side, letter, inner in (
        ("lhs", case.workload.layout[0], 1),
        ("rhs", case.workload.layout[1], 0),
    ):
        contracting = batched + (inner if letter == "n" else 1 - inner)
        if batched:
            sides.append(f"{side}_batch_dims={{0}}")
        sides.append(f"{side}_contracting_dims={{{contracting}}}")
    if number_format(case.number_format).precision:
        sides.append("operand_precision={highest,highest}")
    root = "ROOT " if gemms == 1 else ""
    dims = ", ".join(sides)
    return _module(
        case, gemms, [f"  {root}%out.{i} = {d} dot(%a.{i}, %b.{i}), {dims}" for i in range(gemms)]
    )


def dequantised_dot(case):
    """One dot of operands times their scales in float32, as a host without such units does it."""
    row, work = number_format(case.number_format), case.workload
    d, _, _ = _shapes(case)
    lines, contracting = [], []
    for name, k_axis in (("a", int(work.layout[0] == "n")), ("b", int(work.layout[1] == "t"))):
        rows, columns = matrix = work.shape(name)
        blocks = [rows, columns]
        blocks[k_axis] //= row.block
        parts = [*blocks[: k_axis + 1], row.block, *blocks[k_axis + 1 :]]
        few, wide = (f"[{','.join(map(str, sizes))}]" for sizes in (blocks, matrix))
        split = f"[{','.join(map(str, parts))}]{{2,1,0}}"
        place = 3 if name == "a" else 4
        scale = f"{XLA_TYPES[row.scale]}{few}{{1,0}}"
        kept = f"dimensions={{{'0,1' if k_axis else '0,2'}}}"
        lines += [
            f"  %{name}_scale.0 = {scale} parameter({place})",
            f"  %wide_{name} = f32{wide}{{1,0}} convert(%{name}.0)",
            f"  %wide_{name}_scale = f32{few}{{1,0}} convert(%{name}_scale.0)",
            f"  %{name}_repeated = f32{split} broadcast(%wide_{name}_scale), {kept}",
            f"  %{name}_scales = f32{wide}{{1,0}} bitcast(%{name}_repeated)",
            f"  %scaled_{name} = f32{wide}{{1,0}} multiply(%wide_{name}, %{name}_scales)",
        ]
        contracting.append(f"{'lhs' if name == 'a' else 'rhs'}_contracting_dims={{{k_axis}}}")
    product = f"f32{d[d.index('[') :]}"
    lines += [
        f"  %product = {product} dot(%scaled_a, %scaled_b), {', '.join(contracting)}",
        f"  ROOT %out.0 = {d} convert(%product)",
    ]
    return _module(case, 1, lines)


def _shapes(case):
    row, work = number_format(case.number_format), case.workload

    def shape(kind, matrix):
        sizes = ([work.batch] if work.batch > 1 else []) + list(matrix)
        order = ",".join(str(i) for i in reversed(range(len(sizes))))
        packed = ":E(4)" if kind == "float4_e2m1fn" else ""
        return f"{XLA_TYPES[kind]}[{','.join(map(str, sizes))}]{{{order}{packed}}}"

    return (
        shape(row.output, work.output_shape),
        shape(row.a, work.shape("a")),
        shape(row.b, work.shape("b")),
    )


def _module(case, gemms, body):
    shapes = _shapes(case)
    alias = ", ".join(f"{{{i if gemms > 1 else ''}}}: ({i}, {{}}, may-alias)" for i in range(gemms))
    lines = [f"HloModule jit_gemms, is_scheduled=true, input_output_alias={{ {alias} }}", ""]
    lines.append(f"ENTRY %main.1 (d.0: {shapes[0]}) -> {shapes[0]} {{")
    for offset, (name, shape) in enumerate(zip("dab", shapes, strict=True)):
        lines += [f"  %{name}.{i} = {shape} parameter({offset * gemms + i})" for i in range(gemms)]
    lines += body
    if gemms > 1:
        outs = ", ".join(f"%out.{i}" for i in range(gemms))
        lines.append(f"  ROOT %tuple.1 = ({', '.join([shapes[0]] * gemms)}) tuple({outs})")
    return "\n".join([*lines, "}", ""])
