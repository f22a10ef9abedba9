"""Expressions of symbols as CUDA: the text of one kernel over elements that lie in order.

It is printed when a kernel is first asked for (`backends/cupy_kernels.py` compiles and launches).
16-bit floats are read as float32, computed with as such, and rounded once.
"""

from typing import Any, Final

import numpy as np

from adjoint.backends.loops.symbols import COMPARISONS, IN_C, NAMES_IN_C, Symbol, has_limit

# What an argument is: elements that lie in order, one element for all, a number of Python.
EACH: Final = "e"
SINGLE: Final = "s"
NUMBER: Final = "n"
ROW: Final = "r"  # the elements of one row, which all rows see
COLUMN: Final = "c"  # one element for each row

# By the name of a data type: how elements lie in memory, in what they are computed, and how many
# of them are read at once, which is 16 bytes.
STORED: Final = {
    "float16": ("unsigned short", "float", 8),
    "bfloat16": ("unsigned short", "float", 8),
    "float32": ("float", "float", 4),
    "float64": ("double", "double", 2),
}
THREADS: Final = 256
PLACE: Final = "(blockIdx.x * (long long)blockDim.x + threadIdx.x)"

# NumPy's names of functions that CUDA has under others.
NAMED: Final = {**NAMES_IN_C, "absolute": "fabs"}
WRITTEN: Final = {
    **IN_C,
    "isinf": "fabs({0}) == infinity()",
    "isfinite": "fabs({0}) < infinity()",
    "signbit": "copysign(1.0, (double){0}) < 0",
}
# What CUDA's mathematics has not, or has with other answers to NaN and to signs.
OWN: Final = {
    "sign": "x != x ? x : (C)((x > 0) - (x < 0))",
    "maximum": "x != x || x > y ? x : y",
    "minimum": "x != x || x < y ? x : y",
    "floor_divide": "divided(x, y)",
    "remainder": "left_over(x, y)",
    "power_before": "pow(x, y - 1)",
    "logaddexp": "x == y ? x + (C)0.693147180559945309417 : "
    "x != x || y != y ? x + y : fmax(x, y) + log1p(exp(-fabs(x - y)))",
    "logaddexp2": "x == y ? x + 1 : x != x || y != y ? x + y : "
    "fmax(x, y) + (C)1.442695040888963407360 * log1p(exp2(-fabs(x - y)))",
}
# All others that CUDA's mathematics has, by NumPy's and SciPy's names.
_SAME: Final = """
    ceil copysign cos cosh erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod hypot log log10
    log1p log2 rint sin sinh sqrt tan tanh trunc
"""
SAME: Final = frozenset(_SAME.split())

# NumPy's division that rounds down, and what it leaves.
DIVISION: Final = """
inline __device__ C left_over(C x, C y) {
    C rest = fmod(x, y);
    if (rest != 0) { if ((y < 0) != (rest < 0)) rest += y; }
    else rest = copysign((C)0, y);
    return rest;
}
inline __device__ C divided(C x, C y) {
    if (y == 0) return x / y;
    const C rest = fmod(x, y);
    C quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign((C)0, x / y);
    const C below = floor(quotient);
    return quotient - below > (C)0.5 ? below + 1 : below;
}
"""

READ: Final = {
    "float16": 'float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v)); return f;',
    "bfloat16": "return __uint_as_float((unsigned)v << 16);",
    "float32": "return v;",
    "float64": "return v;",
}
WRITE: Final = {
    "float16": 'unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h;',
    "bfloat16": "if (v != v) return 0x7fc0; unsigned u = __float_as_uint(v); "
    "return (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);",
    "float32": "return v;",
    "float64": "return v;",
    "bool": "return v;",
}


INFINITY: Final = (
    "inline __device__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }"
)


class UnprintableError(Exception):
    """CUDA has no word for a part of an expression."""


def literal(value: Any, kind: str) -> str:
    """A constant in CUDA, exact to the bit."""
    if kind == "bool":
        return "true" if value else "false"
    with np.errstate(over="ignore"):
        number = float(np.dtype(kind).type(value))
    if number != number:  # noqa: PLR0124  no NaN equals itself
        return f"({_type(kind)})__longlong_as_double(0x7ff8000000000000LL)"
    if number in (float("inf"), float("-inf")):
        return f"({_type(kind)}){'-' if number < 0 else ''}infinity()"
    return number.hex() + ("f" if kind == "float32" else "")


def _type(kind: str) -> str:
    return {"float32": "float", "float64": "double"}.get(kind, "bool")


class Printer:
    """Prints an expression as the lines of a function of its arguments, which have names."""

    def __init__(self, arguments: dict[str, str]) -> None:
        self.arguments = arguments
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.used: set[str] = set()  # functions of OWN

    def value(self, part: Symbol) -> str:
        """The name of a part, which is computed first if it was not yet."""
        found = self.names.get(id(part))
        if found is not None:
            return found
        kind = str(part.dtype)
        if part.function == "constant":
            return literal(part.value, kind)
        if part.function in ("array", "number"):
            return self.arguments[part.value]
        values = [self.value(operand) for operand in part.operands]
        text = self.formula(part, kind, values)
        name = self.names[id(part)] = f"v{len(self.names)}"
        self.lines.append(f"const {_type(kind)} {name} = {text};")
        return name

    def formula(self, part: Symbol, kind: str, values: list[str]) -> str:
        """A function in CUDA, of operands by their names."""
        name = part.function
        if name == "cast":
            return f"({_type(kind)}){values[0]}"
        if name in WRITTEN:
            return WRITTEN[name].format(*values)
        own = str(part.operands[0].dtype)
        if name in OWN:
            self.used.add(name)
            if own != str(part.graph.kind):
                raise UnprintableError(f"{name} of numbers")
            return f"own_{name}({', '.join(values[:2])})"
        if name not in SAME and name not in NAMED:
            raise UnprintableError(name)
        return f"{NAMED.get(name, name)}{'f' if own == 'float32' else ''}({', '.join(values)})"


def _own_functions(used: set[str]) -> list[str]:
    found = [DIVISION] if used & {"floor_divide", "remainder"} else []
    for name in sorted(used):
        parameters = "C x" if name == "sign" else "C x, C y"
        found.append(f"inline __device__ C own_{name}({parameters}) {{ return {OWN[name]}; }}")
    return found


def head(kind: str, result: str) -> list[str]:
    """What stands before a kernel on elements of a data type, with results of another."""
    stored, computed, _ = STORED[kind]
    written = "bool" if result == "bool" else stored
    answered = "bool" if result == "bool" else computed
    return [
        f"typedef {stored} S; typedef {computed} C; typedef {written} O; typedef {answered} R;",
        INFINITY,
        f"inline __device__ C read(S v) {{ {READ[kind]} }}",
        f"inline __device__ O write(R v) {{ {WRITE['bool' if result == 'bool' else kind]} }}",
    ]


class Printed:
    """One expression in CUDA: a function of an element, around which kernels are put."""

    def __init__(self, result: Symbol, arrays: list[str], numbers: list[str]) -> None:
        self.arrays = len(arrays)
        self.numbers = len(numbers)
        self.halves = not has_limit(result)  # it does for 16-bit floats, too
        self.result = "bool" if str(result.dtype) == "bool" else ""
        names = {name: f"x{i}" for i, name in enumerate(arrays)}
        names |= {name: f"y{i}" for i, name in enumerate(numbers)}
        printer = Printer(names)
        out = printer.value(result)
        parameters = [f"const C x{i}" for i in range(self.arrays)]
        parameters += [f"const double y{i}" for i in range(self.numbers)]
        body = "\n    ".join([*printer.lines, f"return {out};"])
        self.function = "\n".join(
            [
                *_own_functions(printer.used),
                f"inline __device__ R element({', '.join(parameters)}) {{\n    {body}\n}}",
            ]
        )

    def layout(self, pattern: str) -> str:
        """How the arguments of a kernel for such arrays are packed, as struct says it."""
        own = {NUMBER: "d", ROW: "QQ", COLUMN: "QQ"}
        return "".join([own.get(what, "Q") for what in pattern]) + "d" * self.numbers + "QQ"

    def kernel(self, kind: str, pattern: str, together: int) -> str:
        """The kernel for elements of a data type, so many of them read at once."""
        given: list[str] = []
        before: list[str] = []
        for i, what in enumerate(pattern):
            given.append(f"const double c{i}" if what == NUMBER else f"const S *a{i}")
            if what == NUMBER:
                before.append(f"const C b{i} = (C)c{i};")
            elif what == SINGLE:
                before.append(f"const C b{i} = read(a{i}[0]);")
            elif what != EACH:  # how long a row is
                given.append(f"const long long m{i}")
        given += [f"const double y{i}" for i in range(self.numbers)]
        given += ["O *out", "const long long n"]
        places = {EACH: "i", ROW: "i % m{0}", COLUMN: "i / m{0}"}

        def call(many: str) -> str:
            values = []
            for i, what in enumerate(pattern):
                if what in (NUMBER, SINGLE) or (many and what == COLUMN):
                    values.append(f"b{i}")
                else:
                    one = f"a{i}[{places[what].format(i)}]"
                    values.append(f"read({many.format(i) if many else one})")
            return (
                f"write(element({', '.join([*values, *[f'y{i}' for i in range(self.numbers)]])}))"
            )

        reads = []
        for i, what in enumerate(pattern):
            if what in (EACH, ROW):
                reads.append(f"const In p{i} = *(const In *)(a{i} + {places[what].format(i)});")
            elif what == COLUMN:
                reads.append(f"const C b{i} = read(a{i}[i / m{i}]);")
        lines = [
            *head(kind, self.result),
            self.function,
            f"struct alignas({together} * sizeof(S)) In {{ S v[{together}]; }};",
            f"struct alignas({together} * sizeof(O)) Out {{ O v[{together}]; }};",
            f'extern "C" __global__ void kernel({", ".join(given)}) {{',
            *[f"    {line}" for line in before],
            f"    long long i = {PLACE} * {together};",
            f"    if (i + {together} <= n) {{",
            *[f"        {line}" for line in reads],
            "        Out r;",
            "        #pragma unroll",
            f"        for (int k = 0; k < {together}; k++) r.v[k] = {call('p{}.v[k]')};",
            "        *(Out *)(out + i) = r;",
            "    } else {",
            f"        for (; i < n; i++) out[i] = {call('')};",
            "    }",
            "}",
        ]
        return "\n".join(lines) + "\n"


# ---- steps of optimizers ----

TABLE: Final = 24  # so many parameters make their step by one launch


def step_text(notes: Any, operands: int, numbers: int, kind: str, kept: bool) -> str:
    """The kernel of an optimizer's rule, noted call by call, on many parameters at once.

    A table has the addresses of the operands of each, and the sizes. Numbers come with the launch,
    or, for graphs, are `kept` in memory, where they can change from one to the next.
    """
    used: set[str] = set()
    known = set(range(operands))
    lines = [f"C x{i} = read(t.a[which][{i}][i]);" for i in range(operands)]
    for name, out, *places in notes:
        values = [f"n{-place}" if place < 0 else f"x{place}" for place in places]
        truth = name in COMPARISONS
        if name == "masked":
            text = f"{values[1]} ? {values[0]} : x{out}"
        elif name == "positive":
            text = values[0]
        elif name in WRITTEN:
            text = WRITTEN[name].format(*values)
        elif name in OWN:
            used.add(name)
            text = f"own_{name}({', '.join(values)})"
        else:
            text = f"{NAMED.get(name, name)}({', '.join(values)})"
        new = "" if out in known else f"{'bool' if truth else 'C'} "
        known.add(out)
        lines.append(f"{new}x{out} = {text};")
    written = sorted({note[1] for note in notes if note[1] < operands})
    lines += [f"t.a[which][{place}][i] = write(x{place});" for place in written]
    inside = "\n        ".join(lines)
    given = "\n    ".join([f"const C n{i} = (C)y.v[{i - 1}];" for i in range(1, numbers + 1)])
    second = "const Numbers *kept" if kept else "const Numbers y"
    return "\n".join(
        [
            *head(kind, ""),
            *_own_functions(used),
            f"struct Table {{ S *a[{TABLE}][{operands}]; long long n[{TABLE}]; }};",
            f"struct Numbers {{ double v[{max(1, numbers)}]; }};",
            f'extern "C" __global__ void kernel(const Table t, {second}) {{',
            "    const Numbers y = *kept;" if kept else "",
            "    const int which = blockIdx.y;",
            f"    {given}",
            "    const long long n = t.n[which], step = (long long)gridDim.x * blockDim.x;",
            f"    for (long long i = {PLACE}; i < n; i += step) {{",
            f"        {inside}",
            "    }",
            "}\n",
        ]
    )
