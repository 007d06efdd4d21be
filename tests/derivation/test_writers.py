"""What is written can be read back: source runs, C compiles, formulas are balanced, the page stands alone."""

from __future__ import annotations

import base64
import ctypes
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import sympy

mpl.use("Agg")

import qdot
from qdot.derivation.derivation import Derivation, derive
from qdot.errors import DerivationError
from qdot.joints import Revolute, Universal
from qdot.model.library import (
    acrobot,
    cart_pole,
    floating_two_link,
    n_pendulum,
    puma560,
    random_state,
    random_tree,
    rp_arm,
    two_link_arm,
)
from qdot.spatial import Inertia

DERIVED = {
    "two links": lambda: derive(two_link_arm(), symbols=("mass", "length", "gravity")),
    "own symbols": lambda: derive(two_link_arm(sympy.symbols("l1 l2", positive=True), (1.0, 2.0))),
    "slide": lambda: derive(rp_arm(), symbols="mass"),
    "pushed": lambda: derive(cart_pole(), symbols=("hinge.damping",), wrenches=("tip",)),
    "floating": lambda: derive(floating_two_link()),
    "steps": lambda: derive(puma560()),
    "nothing moves": lambda: derive(qdot.assemble(qdot.Mechanism("empty"))),
}


@pytest.fixture(scope="module", params=DERIVED)
def derivation(request) -> Derivation:
    return DERIVED[request.param]()


# ── code ─────────────────────────────────────────────────────────────────────────────────────────


def engine(model, q, v, a) -> dict[str, object]:
    """What the engine says, by the names of the functions that are written."""
    return {
        "mass_matrix": qdot.mass_matrix(model, q),
        "velocity_forces": qdot.velocity_forces(model, q, v),
        "gravity_forces": qdot.gravity_forces(model, q),
        "inverse_dynamics": qdot.inverse_dynamics(model, q, v, a),
        "kinetic_energy": qdot.kinetic_energy(model, q, v),
        "potential_energy": qdot.potential_energy(model, q),
    }


def called(functions, name: str, q, v, a, tau):
    vectors = {"mass_matrix": (q,), "gravity_forces": (q,), "potential_energy": (q,), "inverse_dynamics": (q, v, a)}
    return functions[name](*vectors.get(name, (q, v)))


@pytest.mark.parametrize("form", ["closed", "recursive"])
@pytest.mark.parametrize("model", [two_link_arm(), rp_arm(), cart_pole(), random_tree(2, 2)], ids=lambda m: m.name)
def test_source_for_numpy_runs_and_is_the_engine(model, form: str) -> None:
    """With the values of the model as they are by default, in a namespace of its own."""
    module: dict[str, object] = {}
    exec(derive(model, symbols=("mass", "gravity")).numpy(form), module)
    q, v, a = random_state(model, 3)
    tau = qdot.inverse_dynamics(model, q, v, a)
    for name, expected in engine(model, q, v, a).items():
        np.testing.assert_allclose(called(module, name, q, v, a, tau), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(module["forward_dynamics"](q, v, tau), a, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("form", ["closed", "recursive"])
@pytest.mark.parametrize("model", [rp_arm(), floating_two_link(), n_pendulum(5)], ids=lambda m: m.name)
def test_what_needs_the_inverse_is_in_the_source_for_any_size(model, form: str) -> None:
    """M⁻¹, b, Γ, H and Hamilton's equations, against the engine's public functions: five freedoms, and quaternions."""
    module: dict[str, object] = {}
    exec(derive(model).numpy(form), module)
    q, v, _ = random_state(model, 4)
    p, tau = qdot.generalized_momentum(model, q, v), np.linspace(-1, 1, model.nv)
    for name, vectors in {
        "inverse_mass_matrix": (q,),
        "christoffel_symbols": (q,),
        "connection_coefficients": (q,),
        "hamiltonian": (q, p),
        "hamilton_equations": (q, p, tau),
    }.items():
        expected = getattr(qdot, name)(model, *vectors)
        np.testing.assert_allclose(module[name](*vectors), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["closed", "recursive"])
def test_source_for_numpy_takes_batches(form: str) -> None:
    """Leading axes of any number; constants may have a value for each row too."""
    model = rp_arm()
    module: dict[str, object] = {}
    exec(derive(model, symbols=("gravity",)).numpy(form), module)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 4, 5, 2))
    for name, expected in engine(model, q.reshape(-1, 2), v.reshape(-1, 2), a.reshape(-1, 2)).items():
        found = called(module, name, q, v, a, None)
        assert found.shape == (4, 5, *np.shape(expected)[1:])
        np.testing.assert_allclose(found.reshape(np.shape(expected)), expected, rtol=1e-12, atol=1e-12)
    one = module["mass_matrix"](q[0, 0])
    assert one.shape == (2, 2)
    heavy, light = module["gravity_forces"](q[0, 0], g=np.array([9.81, 1.0]))
    np.testing.assert_allclose(heavy, 9.81 * light, rtol=1e-14)
    assert isinstance(module["kinetic_energy"](q[0, 0], v[0, 0]), float)


def test_code_is_easy_on_the_eyes(derivation) -> None:
    """No line is longer than 120 characters, and no step only gives another name to one thing."""
    for code in (derivation.numpy(), derivation.c()):
        assert max(map(len, code.splitlines())) <= 120
        assert not re.search(r"\bx_\d+ = -?[a-z]\w*(\[\d+\])?;?\n", code.replace("constants[", "constants "))


def test_constants_of_the_source_can_be_changed() -> None:
    module: dict[str, object] = {}
    exec(derive(two_link_arm(), symbols=("mass", "length", "gravity")).numpy(), module)
    q = [0.3, 0.4]
    longer = module["gravity_forces"](q, l_1=2.0, m_2=3.0)
    np.testing.assert_allclose(longer, qdot.gravity_forces(two_link_arm((2.0, 1.0), (1.0, 3.0)), q), rtol=1e-13)


def compiler() -> list[str] | None:
    if shutil.which("cc"):
        return ["cc"]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") else None


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("model", [two_link_arm(), puma560(), random_tree(2, 2)], ids=lambda m: m.name)
def test_c_compiles_without_warnings_and_is_the_engine(model, tmp_path) -> None:
    derivation = derive(model, symbols=("gravity",))
    source, library = tmp_path / "model.c", tmp_path / "model.so"
    source.write_text(derivation.c(), "utf-8")
    flags = ["-std=c99", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([*compiler(), *flags, str(source), "-o", str(library), "-lm"], check=True, capture_output=True)
    loaded = ctypes.CDLL(str(library))
    q, v, a = random_state(model, 3)
    tau = qdot.inverse_dynamics(model, q, v, a)
    constants = np.array([x for s, x in derivation.values.items() if f" {s.name} = " in source.read_text("utf-8")])

    def function(name: str):
        def call(*vectors):
            out = np.zeros(model.nv**2 + 1)
            pointers = [np.ascontiguousarray(x, dtype=float).ctypes.data_as(ctypes.c_void_p) for x in vectors]
            code = getattr(loaded, f"{model.name}_{name}")
            code.restype = None
            code(*pointers, constants.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
            return out

        return call

    expected = engine(model, q, v, a)
    functions = {name: function(name) for name in [*expected, "forward_dynamics"]}
    for name, numbers in expected.items():
        flat = np.ravel(numbers)
        np.testing.assert_allclose(called(functions, name, q, v, a, tau)[: flat.size], flat, rtol=1e-10, atol=1e-10)
    found = functions["forward_dynamics"](q, v, tau)[: model.nv]
    np.testing.assert_allclose(found, a, rtol=1e-7, atol=1e-7)


def test_names_that_are_no_identifiers() -> None:
    """Symbols and models may be called anything; code may not."""
    lam, spaced = sympy.Symbol("lambda", positive=True), sympy.Symbol("the mass", positive=True)
    world = qdot.Mechanism('a "door" */')
    world.add("door", Revolute("z"), Inertia.point(spaced, (lam, 0, 0)))
    derivation = derive(qdot.assemble(world))
    module: dict[str, object] = {}
    exec(derivation.numpy(), module)
    assert module["mass_matrix"]([0.1], lambda_=2.0, the_mass=3.0) == [[12.0]]
    assert derivation.c().count("/*") == derivation.c().count("*/")


def test_names_that_the_functions_use() -> None:
    """A length called a, a mass called tau."""
    a, tau = sympy.symbols("a tau", positive=True)
    world = qdot.Mechanism("door")
    world.add("door", Revolute("z"), Inertia.point(tau, (a, 0, 0)))
    module: dict[str, object] = {}
    exec(derive(qdot.assemble(world)).numpy(), module)
    assert module["inverse_dynamics"]([0.1], [0.0], [2.0], a_=2.0, tau_=3.0) == [24.0]


# ── pages ────────────────────────────────────────────────────────────────────────────────────────


def balanced(text: str) -> None:
    r"""Braces, environments, \left and \right, dollars and displays come in pairs."""
    bare = text.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "").replace(r"\$", "")
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    begun, ended = (re.findall(rf"\\{word}{{(\w+\*?)}}", text) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
    assert bare.count(r"\left") == bare.count(r"\right")
    assert bare.count(r"\[") == bare.count(r"\]")
    assert bare.count("$") % 2 == 0


def test_latex_is_balanced(derivation) -> None:
    text = derivation.latex()
    assert text.startswith(r"\documentclass")
    balanced(text)
    assert text.isascii()  # any LaTeX reads it


KNOWN = {
    "documentclass", "usepackage", "allowdisplaybreaks", "setlength", "renewcommand", "parindent", "parskip", "LTleft",
    "arraystretch", "begin", "end", "section", "subsection", "textwidth", "hline", "emph", "quad", "left", "right",
    "frac", "tfrac", "sqrt", "cos", "sin", "dot", "ddot", "tau", "psi", "varphi", "Gamma", "sum", "partial", "lambda",
    "cdot", "max", "min", "operatorname", "text", "textbackslash", "omega", "sign", "geq", "leq", "wedge", "phi",
}  # fmt: skip
"""Commands of LaTeX and amsmath; documents of all of the library have been compiled with these."""


def test_latex_uses_what_latex_has(derivation) -> None:
    """Commands and environments that exist; one & in each row of an equation, as many as columns in a table."""
    text = derivation.latex()
    assert set(re.findall(r"\\([A-Za-z]+)", text.replace(r"\\", " "))) <= KNOWN  # a row ends with two
    assert set(re.findall(r"\\begin{(.*?)}", text)) <= {"document", "align*", "longtable", "matrix", "array", "cases"}
    for block in re.findall(r"\\begin{align\*}(.*?)\\end{align\*}", text, re.DOTALL):
        assert block.strip()  # amsmath refuses empty ones
        assert "\n\n" not in block  # and those with paragraphs
        outer = re.sub(r"\\begin{(matrix|cases|array)}.*?\\end{\1}", "", block, flags=re.DOTALL)
        assert {row.count("&") for row in outer.split(r"\\")} == {1}
    (table,) = re.findall(r"\\begin{longtable}{l p.*? l*}\n(.*?)\\end{longtable}", text, re.DOTALL)
    assert {row.count("&") - row.count(r"\&") for row in table.split(r"\\") if "&" in row} == {3}


def test_letters_with_indices_in_words_are_formulas() -> None:
    text = DERIVED["two links"]().latex()
    assert r"$b_{ijk}$ = $\tfrac12$ ($\partial$$M_{ij}$/" in text
    assert r"it changes with $q_{2}$" in text
    assert r"\_" not in text.partition("Equations of motion")[2].replace(r"upper\_arm", "")


def test_latex_writes_rates_with_dots() -> None:
    text = DERIVED["slide"]().latex()
    assert r"\dot{q}_{1} \dot{q}_{2}" in text
    assert r"\ddot{q}_{1}" in text
    assert r"m_{2} q_{2}^{2}" in text
    floating = DERIVED["floating"]().latex()
    assert r"\dot{q}" not in floating  # velocities of quaternions are not their rates
    assert r"\dot{v}_{1}" in floating


def test_markdown(derivation) -> None:
    text = derivation.markdown()
    balanced(text)
    assert text.count("$$") % 2 == 0
    assert text.startswith("# Equations of motion of ")
    for line in (line for line in text.splitlines() if line.startswith("|")):
        assert line.endswith("|")
    assert not re.search(r":\n+\$\$", text)  # words of an equation stand below it
    assert "::" not in text


class Page(HTMLParser):
    """Reads a page: which tags are open, what it links to, its pictures and its words."""

    VOID = ("meta", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "img":
            self.pictures.append(found["src"])
        self.links += [found[name] for name in ("href", "src") if name in found]
        self.anchors |= {found["id"]} if "id" in found else set()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_html_stands_alone(derivation, tmp_path) -> None:
    file = tmp_path / "page.html"
    text = derivation.html(file)
    assert file.read_text("utf-8") == text
    page = Page(text)
    assert page.open == []
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in page.links)  # nothing from elsewhere
    assert {link[1:] for link in page.links if link.startswith("#")} == page.anchors
    (picture,) = page.pictures
    image = base64.b64decode(picture.partition(",")[2])
    assert image.startswith(b"\x89PNG")
    assert len(image) > 4000
    assert "the largest error is" in page.words
    formulas = re.findall(r"<math .*?</math>", text)
    assert formulas or derivation.model.nv == 0
    for formula in formulas:
        ElementTree.fromstring(formula)  # well formed, and without names of entities that HTML alone knows


def test_html_explains_the_terms() -> None:
    """H17: which inertia, which coupling, centrifugal, Coriolis, gravity."""
    words = Page(DERIVED["two links"]().html()).words
    for told in (
        "the inertia that shoulder feels when it alone accelerates, that of upper_arm and forearm; it changes with q_2",
        "the coupling of shoulder and elbow",
        "centrifugal: the moment at elbow that shoulder causes by moving alone",
        "Coriolis: the moment at shoulder that shoulder and elbow cause by moving at once",
        "the moment at elbow that holds the weight of forearm",
    ):
        assert told in words


def test_names_with_signs_of_markup_stay_names(tmp_path) -> None:
    world = qdot.Mechanism("<b>robot & co</b>")
    part = world.add("<link>", Revolute("z"), Inertia.point(1.0, (1, 0, 0)), joint_name="a&b")
    part.frame("tip<1>", at=(1, 0, 0))
    derivation = derive(qdot.assemble(world), wrenches=("tip<1>",))
    text = derivation.html()
    assert Page(text).open == []
    assert "<b>" not in text
    for formula in re.findall(r"<math .*?</math>", text):
        ElementTree.fromstring(formula)
    balanced(derivation.latex())


def test_text_is_for_a_terminal(derivation) -> None:
    text = derivation.text()
    assert text.startswith("Equations of motion of ")
    for s in derivation.q:
        assert f"\n{s}  " in text


def test_symbols_that_enter_nothing_are_not_listed() -> None:
    """The moments of inertia of a planar arm about the other axes."""
    text = derive(rp_arm(), symbols=("inertia",)).text()
    assert "I_zz1" in text
    assert "I_xx1" not in text


def test_unknown_form() -> None:
    with pytest.raises(DerivationError, match="choose auto, closed or recursive"):
        DERIVED["slide"]().latex("short")


def four_bar(loop=None) -> qdot.Model:
    """Two links whose end is held, by a turning joint or another one."""
    world = qdot.Mechanism("four_bar")
    crank = world.add("crank", Revolute("z"), Inertia.point(1.0, (1, 0, 0)))
    rod = crank.add("rod", Revolute("z"), Inertia.point(1.0, (2, 0, 0)), at=(1, 0, 0))
    world.world.frame("ground", at=(2, 0, 0))
    rod.frame("pin", at=(2, 0, 0))
    world.close("loop", loop or Revolute("z"), "ground", "pin")
    return qdot.assemble(world)


@pytest.mark.parametrize("form", ["closed", "recursive"])
def test_closed_mechanisms_are_told_from_their_tree(form: str) -> None:
    told = {"closed": 2, "recursive": 1}[form]  # at the equations of motion and Hamilton's; at the steps
    d = derive(four_bar())
    assert d.constrained
    assert d.text(form).count("the equations of its tree") == told
    assert "+ J_φᵀ λ" in d.text(form)
    assert "$J_\\varphi^T \\lambda$" in d.latex(form)
    assert "+ J_φᵀ λ" in d.numpy(form)
    head = d.c(form).partition("*/")[0]
    assert "+ J_phi^T lambda" in head
    assert head.isascii()
    assert not derive(two_link_arm()).constrained


def test_a_loop_that_cannot_be_written_leaves_the_page() -> None:
    text = derive(four_bar(Universal("x", "z"))).text()
    assert "It is left out: loop joint 'loop'" in text
    assert "M_11 = " in text


def test_signs_of_long_sums() -> None:
    """Each line that goes on has one sign."""
    text = derive(acrobot(), symbols=("mass", "length", "com", "inertia")).html()
    assert text.count("<div><math") > 5
    assert not re.search(r"<mo>\+</mo>(<mrow>)*<m[on]>(-|&#8722;)", text)


def test_a_page_that_cannot_be_written(tmp_path) -> None:
    with pytest.raises(DerivationError, match=r"x\.html cannot be written: No such file"):
        DERIVED["slide"]().html(tmp_path / "nowhere" / "x.html")
