"""Repairs of the C code that mypyc writes; docs/notes/build.md says what is wrong with it.

A repair replaces text that must be found exactly as often as it is expected. Where it is not, the
build fails and names the class and the file, instead of leaving the fault in.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TEMPLATE = re.compile(
    r"^static PyTypeObject CPyType_(\w+)_template_ = \{\n(.*?)^\};\n", re.MULTILINE | re.DOTALL
)

# Every op asks a frame where it was called, every call of a compiled program functions and cells
# whether they are as they were. Python's own functions answer in a fraction of the time that it
# takes to look up an attribute by name.
READERS = {
    "f_code": ("PyFrame_Check({0})", "(PyObject *)PyFrame_GetCode((PyFrameObject *){0})"),
    "f_lasti": ("PyFrame_Check({0})", "PyLong_FromLong(PyFrame_GetLasti((PyFrameObject *){0}))"),
    "__code__": ("PyFunction_Check({0})", "adjoint_held(PyFunction_GET_CODE({0}))"),
    "__defaults__": ("PyFunction_Check({0})", "adjoint_held(PyFunction_GET_DEFAULTS({0}))"),
    "__kwdefaults__": ("PyFunction_Check({0})", "adjoint_held(PyFunction_GET_KW_DEFAULTS({0}))"),
    "cell_contents": (
        "PyCell_Check({0}) && PyCell_GET({0}) != NULL", "adjoint_held(PyCell_GET({0}))",
    ),
}  # fmt: skip
LOOK_UP = re.compile(
    rf"(/\* '({'|'.join(READERS)})' \*/\n\w+ = )(CPyObject_GetAttr\((\w+), \w+\));"
)
HOLDER = """static inline PyObject *adjoint_held(PyObject *found) {
return Py_NewRef(found == NULL ? Py_None : found);
}
"""

# Most of what a node may hold is None most of the time. The collector would be called for each.
VISIT = re.compile(r"^(Py_VISIT\((self->_\w+)\);)$", re.MULTILINE)

# Every op reads the settings of its context: `current()`, a method of a context variable. C can ask
# the variable itself, without a call through Python's protocol.
SETTINGS_READER = """static inline PyObject *adjoint_settings(PyObject *get) {
PyObject *found = NULL;
return PyContextVar_Get(PyCFunction_GET_SELF(get), NULL, &found) < 0 ? NULL : found;
}
"""
READ_SETTINGS = re.compile(
    r"((\w+) = CPyStatic_context___current;\n"
    r"(?:(?!\w+ = CPyStatic_)[^\n]*\n){1,40}?"  # what is done if it has no value yet
    r"\w+ = )PyObject_Vectorcall\(\2, 0, 0, 0\);"
)

# What sets a module up runs once. As code that is seldom run it is half as long: 41 kB of a wheel.
SET_UP = {
    kind: re.compile(rf"^(?:static )?{kind}\)(?: \{{)?$", re.MULTILINE)
    for kind in (
        r"int CPyExec_\w+__impl\(PyObject \*module",
        r"PyObject \*CPyInit_\w+\(void",
        r"char CPyDef_\w+_____top_level__\(void",
    )
}


# Classes whose __new__ makes instances of derived classes whole (adjoint/tensors/methods.py).
TAKES_ARGUMENTS = frozenset({"tensor___Tensor"})


class UnexpectedCodeError(Exception):
    """mypyc has written something else than these repairs know."""


@dataclass
class CompiledClass:
    """What the repairs must know of one class, read from its type's template."""

    name: str  # of its C functions, such as node___Node
    struct: str
    collected: bool  # the cyclic collector looks at its instances
    attributes: bool  # its instances have __dict__
    lists_weak: bool  # and keep their weak references where mypyc counts them as its own
    derived: bool  # it has bases, which it inherits descriptors from
    reused: bool  # the memory of one dead instance is kept for the next


class Text:
    """A C file under repair."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # mypyc indents by hundreds of spaces; without them a passage can be told by its text alone.
        self.text = "\n".join(line.lstrip() for line in path.read_text("utf-8").split("\n"))

    def replace(self, owner: str, old: str, new: str, times: int = 1) -> None:
        """Put new for old, which must be there so many times."""
        found = self.text.count(old)
        if found != times:
            raise UnexpectedCodeError(
                f"{self.path}: {owner}: found {found} times, not {times}:\n{old}"
            )
        self.text = self.text.replace(old, new)

    def expect(self, owner: str, pattern: str, times: int) -> None:
        """Check how often something is there."""
        found = len(re.findall(pattern, self.text, re.MULTILINE))
        if found != times:
            raise UnexpectedCodeError(
                f"{self.path}: {owner}: found {found} times, not {times}: {pattern}"
            )


def repair(source: Path, modules: Iterable[Path]) -> list[CompiledClass]:
    """Repair the C code that these modules were compiled to; the classes that were found."""
    text = Text(source)
    classes = [
        compiled_class(text, name, body)
        for name, body in TEMPLATE.findall(text.text)
        if "tp_dealloc" in body
    ]
    for found in classes:
        repair_deallocator(text, found)
        repair_collection(text, found)
        repair_descriptors(text, found)
    # Nothing that a repair is about may belong to a class that was not recognised.
    text.expect("all classes", r"^CPy_TRASHCAN_BEGIN\(", len(classes))
    text.expect("all classes", r"^\w+_traverse\(.*\)$", sum(c.collected for c in classes))
    text.expect("all classes", r"self \+ sizeof\(PyObject \*\) \+ sizeof", 0)
    text.text = VISIT.sub(r"if (\2 != Py_None) \1", text.text)
    repair_maker(text, [found.name for found in classes])
    modules = list(modules)
    repair_look_ups(text, modules)
    repair_settings(text, modules)
    mark_set_up(text)
    source.write_text(text.text, encoding="utf-8")
    return classes


def compiled_class(text: Text, name: str, template: str) -> CompiledClass:
    """A class, by its name in C and the template of its type."""
    struct = re.search(rf"^{name}_dealloc\((\w+) \*self\)$", text.text, re.MULTILINE)
    if struct is None or f".tp_dealloc = (destructor){name}_dealloc,\n" not in template:
        raise UnexpectedCodeError(f"{text.path}: class {name}: it has no deallocator of its own")
    made = f"CPyType_FromTemplate((PyObject *)CPyType_{name}_template, NULL,"
    return CompiledClass(
        name,
        struct[1],
        collected=".tp_traverse = " in template,
        attributes=".tp_dictoffset = " in template or "Py_TPFLAGS_MANAGED_DICT" in template,
        lists_weak=".tp_weaklistoffset = " in template,
        derived=made not in text.text,
        reused=f"{name}_free_instance == NULL" in text.text,
    )


def repair_deallocator(text: Text, found: CompiledClass) -> None:
    """Have a dead instance tell its weak references, and let go of its type."""
    name, owner = found.name, f"deallocator of class {found.name}"
    begin = f"CPy_TRASHCAN_BEGIN(self, {name}_dealloc)\n"
    clear = f"CPyDef_{name}_clear((PyObject *)self);\n"
    free = "Py_TYPE(self)->tp_free((PyObject *)self);\n"
    end = "CPy_TRASHCAN_END(self)\n"
    tell = "if (type->tp_weaklistoffset != 0) PyObject_ClearWeakRefs((PyObject *)self);\n"
    text.replace(
        owner,
        begin + clear + free + end,
        f"{begin}PyTypeObject *type = Py_TYPE(self);\n"
        f"{tell if found.attributes else ''}{clear}{free}Py_DECREF(type);\n{end}",
    )
    if found.attributes and found.reused:
        # The next instance would have the __dict__ and the weak references of the last one.
        text.replace(owner, f"if ({name}_free_instance == NULL) {{\n", "if (0) {\n")


def repair_collection(text: Text, found: CompiledClass) -> None:
    """Let the collector see that an instance owns its type, but not its weak references."""
    owner = f"class {found.name}"
    if found.collected:
        head = f"{found.name}_traverse({found.struct} *self, visitproc visit, void *arg)\n{{\n"
        text.replace(owner, head, head + "Py_VISIT(Py_TYPE(self));\n")
    if found.lists_weak:
        weak = f"*((PyObject **)((char *)self + sizeof(PyObject *) + sizeof({found.struct})))"
        text.replace(owner, f"Py_VISIT({weak});\n", "")
        text.replace(owner, f"Py_CLEAR({weak});\n", "", times=2)


def repair_descriptors(text: Text, found: CompiledClass) -> None:
    """Let __dict__ and __weakref__ be those of the base: mypyc's take anything, and crash on it."""
    if found.lists_weak and found.derived:
        text.replace(f"class {found.name}", f".tp_members = {found.name}_members,\n", "")


def repair_maker(text: Text, names: Iterable[str]) -> None:
    """Let Tensor's __new__ hand its arguments to __init__, for classes with one of their own."""
    for name in TAKES_ARGUMENTS.intersection(names):
        module, _, kind = name.partition("___")
        head = (
            f"{name}_new(PyTypeObject *type, PyObject *args, PyObject *kwds)\n{{\n"
            f"PyObject *self = CPyDef_{module}_____mypyc__{kind}_setup((PyObject*)type);\n"
            "if (self == NULL)\nreturn NULL;\n"
        )
        whole = (
            f"if (type != CPyType_{name} && PyTuple_GET_SIZE(args) > 0) {{\n"
            f"PyObject *done = CPyPy_{name}_____init__(self, args, kwds);\n"
            "if (done == NULL) {\nPy_DECREF(self);\nreturn NULL;\n}\nPy_DECREF(done);\n}\n"
        )
        end = "return self;\n}\n"
        text.replace(f"__new__ of class {name}", head + end, head + whole + end)


def repair_look_ups(text: Text, modules: Iterable[Path]) -> None:
    """Read Python's own objects by its own functions, once for each time the modules do."""
    reads = [
        node.attr
        for module in modules
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in READERS
    ]
    text.text, count = LOOK_UP.subn(reader, text.text)
    if count != len(reads):
        raise UnexpectedCodeError(
            f"{text.path}: {count} reads of Python's objects, but {len(reads)} in the modules"
        )
    if count:
        put_first(text, HOLDER)


def repair_settings(text: Text, modules: Iterable[Path]) -> None:
    """Read the settings of a context from its variable, once for each time the modules do."""
    reads = sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "current"
        for module in modules
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
    )
    text.text, count = READ_SETTINGS.subn(r"\1adjoint_settings(\2);", text.text)
    if count != reads:
        raise UnexpectedCodeError(
            f"{text.path}: {count} reads of settings, but {reads} in the modules"
        )
    if count:
        put_first(text, SETTINGS_READER)


def put_first(text: Text, function: str) -> None:
    """Put a function before all others."""
    last = re.search(r'^#include "__native_internal\w*\.h"\n', text.text, re.MULTILINE)
    header = "" if last is None else last[0]
    text.replace("what is read", header or "#include of the internal header", header + function)


def mark_set_up(text: Text) -> None:
    """Let the compiler know what is seldom run: of each module, the functions that set it up."""
    counts = set()
    for pattern in SET_UP.values():
        text.text, count = pattern.subn(r"Py_GCC_ATTRIBUTE((cold)) \g<0>", text.text)
        counts.add(count)
    if len(counts) > 1:
        raise UnexpectedCodeError(f"{text.path}: modules are set up by {sorted(counts)} functions")


def reader(look_up: re.Match[str]) -> str:
    """The look-up of an attribute, faster if its owner is of the kind that has it."""
    start, attribute, slow, owner = look_up.groups()
    check, quick = READERS[attribute]
    return f"{start}{check.format(owner)} ? {quick.format(owner)} : {slow};"
