"""What a program and its parts are called in C, and what the comment at the head of a file says of them."""

from __future__ import annotations

import re
import unicodedata

from qdot.compiler.program import Port, Program

TYPES = {"float64": "double", "float32": "float"}

HELPERS = {
    "min": "{T} {name}_min({T} x, {T} y) {{ return (x < y || isnan(x)) ? x : y; }}",
    "max": "{T} {name}_max({T} x, {T} y) {{ return (x > y || isnan(x)) ? x : y; }}",
    "sign": "{T} {name}_sign({T} x) {{ return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }}",
}
"""Operations that C has no expression for: these keep NaN, as NumPy's do; fmin and fmax lose it."""

_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof asm atomic bool catch class complex constexpr delete explicit export false friend imaginary
    linux mutable namespace new noreturn nullptr operator private protected public template this throw true try
    typename typeof unix using virtual wchar_t
    main abort abs calloc div exit free index labs malloc memcpy memset printf putchar puts realloc strlen
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor
    fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint
    lround modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn
    significand signgam sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn drem finite fpclassify isfinite
    isgreater isinf isless isnan isnormal isunordered signbit double_t float_t INFINITY NAN HUGE HUGE_VAL HUGE_VALF
    HUGE_VALL MATH_ERRNO MATH_ERREXCEPT
"""
RESERVED = frozenset(_WORDS.split())
"""Words that no identifier may be: of C, of C++ (the header is for both), and of the library."""

OWN = re.compile(r"[gintvr]\d+")
"""Names of counters, new values of loops, values, and arrays: what a loop over rows is given, and its results."""


class Names:
    """The identifiers of a program in C: its function, and a pointer for each port."""

    def __init__(self, program: Program, dtype: str, name: str | None) -> None:
        if dtype not in TYPES:
            raise ValueError(f"C code is written for {' or '.join(TYPES)}, not {dtype!r}")
        if name is not None and identifier(name) != name:
            raise ValueError(f"{name!r} is no name for a C function; {identifier(name)!r} would be one")
        self.type = TYPES[dtype]
        self.function = name or identifier(program.name)
        taken = {self.function, *(f"{self.function}_{op}" for op in HELPERS)}
        self.inputs = [_unique(p.name, taken, "in") for p in program.inputs]
        self.outputs = [_unique(p.name, taken, "out") for p in program.outputs]

    def prototype(self) -> str:
        parameters = [f"const {self.type} *{x}" for x in self.inputs] + [f"{self.type} *{x}" for x in self.outputs]
        return f"void {self.function}({', '.join(parameters) or 'void'})"


def identifier(name: str) -> str:
    """A valid C identifier like this name: Greek letters are spelled out, other signs become underscores."""
    called = (unicodedata.name(letter, "") if not letter.isascii() else "" for letter in name)
    letters = (c.split()[-1].lower() if c.startswith("GREEK") else x for x, c in zip(name, called, strict=True))
    spelled = re.sub(r"\W+", "_", "".join(letters), flags=re.ASCII)
    if not spelled or not spelled[0].isalpha():
        spelled = f"x{spelled}"  # a leading underscore is the compiler's
    clashes = spelled in RESERVED or spelled.removesuffix("f") in RESERVED or spelled.removesuffix("l") in RESERVED
    if clashes or OWN.fullmatch(spelled) or spelled.startswith(("M_", "FP_")):
        spelled += "_"
    return spelled


def _unique(name: str, taken: set[str], role: str) -> str:
    found = identifier(name)
    if found in taken:
        found = f"{found}_{role}"
    stem, k = found, 2
    while found in taken:
        found, k = f"{stem}_{k}", k + 1
    taken.add(found)
    return found


def comment(program: Program, names: Names) -> str:
    name = _harmless(program.name)
    ports = [*zip(names.inputs, program.inputs, strict=True), *zip(names.outputs, program.outputs, strict=True)]
    width = max((len(x) for x, _ in ports), default=0)
    takes = ", ".join(p.name for p in program.inputs) or "nothing"
    gives = ", ".join(p.name for p in program.outputs) or "nothing"
    lines = [
        f"{names.function}: {_harmless(gives)} of {_harmless(takes)}, by the program {name}.",
        f"It computes one row: {program.operations()} operations, no memory allocated, no state kept.",
        "",
        f"Arrays of {names.type}, row by row (the last index runs fastest), without gaps:",
        "",
    ]
    for k, (pointer, port) in enumerate(ports):
        role = "input " if k < len(program.inputs) else "output"
        lines.append(f"    {pointer:{width}}  {role}  {_layout(pointer, port)}")
    declared = ", ".join(f"{x}[{max(1, p.size)}]" for x, p in ports)
    lines += [
        "",
        "Units are those of the program that it was made from; the code knows none.",
        "An output may lie over an input: all inputs are read before an output is written.",
        "",
        "Call it as",
        "",
        *([f"    {names.type} {declared};"] if declared else []),
        f"    {names.function}({', '.join(x for x, _ in ports)});",
        "",
        f"Generated by qdot from program {program.hash}; do not edit.",
    ]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def _layout(pointer: str, port: Port) -> str:
    called = "" if port.name == pointer else f"{_harmless(port.name)}: "
    if not port.shape:
        return f"{called}one number"
    letters = [f"i{k}" for k in range(len(port.shape))] if len(port.shape) > 3 else ["i", "j", "k"][: len(port.shape)]
    place = letters[0]
    for n, letter in zip(port.shape[1:], letters[1:], strict=True):
        place = f"({place})*{n} + {letter}" if " " in place else f"{place}*{n} + {letter}"
    shape = f"({', '.join(map(str, port.shape))}{',' if len(port.shape) == 1 else ''})"
    return f"{called}shape {shape}, entry ({', '.join(letters)}) is {pointer}[{place}]"


def _harmless(name: str) -> str:
    """A name that may stand in a comment."""
    return re.sub(r"[^\w ,.()\[\]+-]", "_", name)
