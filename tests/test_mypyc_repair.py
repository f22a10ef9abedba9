"""The repairs of mypyc's C code: each is made exactly where it is due, or the build fails."""

import re

import pytest

from tests.build_script import script

SCRIPT = script("tools/mypyc_repair.py")

WEAK = "*((PyObject **)((char *)self + sizeof(PyObject *) + sizeof(ThingObject)))"


def code(
    *, weak=True, managed=False, derived=True, reused=False, collected=True, visits=1, clears=2
):
    """What mypyc writes for one class, as far as the repairs look at it."""
    visit = f"    Py_VISIT({WEAK});\n" * (visits if weak else 0)
    clear = f"    Py_CLEAR({WEAK});\n" * (1 if weak else 0)
    clearing = "".join(
        f"static int32_t CPyDef_m___Thing_{name}(PyObject *cpy_r_self)\n{{\n{clear}}}\n"
        for name in ["clear", "clear_on_completion", "a_third"][:clears]
    )
    traversing = (
        "m___Thing_traverse(ThingObject *self, visitproc visit, void *arg)\n{\n"
        f"    int rv = 0;\n{visit}    return rv;\n}}\n"
    )
    kept = "if (m___Thing_free_instance == NULL) {\nm___Thing_free_instance = self;\nreturn;\n}\n"
    fields = [".tp_dealloc = (destructor)m___Thing_dealloc,"]
    fields += [".tp_traverse = (traverseproc)m___Thing_traverse,"] * collected
    fields += [".tp_members = m___Thing_members,", ".tp_dictoffset = 8,"] * weak
    fields += [".tp_weaklistoffset = 16,"] * weak
    fields += [".tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_MANAGED_DICT,"] * managed
    made = "cpy_r_r1" if derived else "(PyObject *)CPyType_m___Thing_template, NULL, modname"
    return "".join(
        [
            traversing if collected else "",
            clearing,
            "        static void\n        m___Thing_dealloc(ThingObject *self)\n{\n",
            "        PyObject_GC_UnTrack(self);\n",
            kept if reused else "",
            "        CPy_TRASHCAN_BEGIN(self, m___Thing_dealloc)\n",
            "        CPyDef_m___Thing_clear((PyObject *)self);\n",
            "        Py_TYPE(self)->tp_free((PyObject *)self);\n",
            "        CPy_TRASHCAN_END(self)\n        done: ;\n}\n",
            "static PyTypeObject CPyType_m___Thing_template_ = {\n",
            "".join(f"    {field}\n" for field in fields),
            "};\n",
            f"CPyType_FromTemplate({made});\n",
        ]
    )


READ = """cpy_r_r1 = CPyStatics[3]; /* 'f_code' */
    cpy_r_r2 = CPyObject_GetAttr(cpy_r_r0, cpy_r_r1);
"""

HEADER = '#include "__native_internal_1f.h"\n'
SETTINGS = """    cpy_r_r0 = CPyStatic_context___current;
    if (likely(cpy_r_r0 != NULL)) goto CPyL3;
    CPyL3: ;
    cpy_r_r2 = PyObject_Vectorcall(cpy_r_r0, 0, 0, 0);
"""


@pytest.fixture
def repaired(tmp_path):
    def run(text, python=""):
        source, module = tmp_path / "__native.c", tmp_path / "module.py"
        source.write_text(text)
        module.write_text(python)
        SCRIPT.repair(source, [module])
        return source.read_text()

    return run


def test_a_dead_instance_tells_its_weak_references_and_drops_its_type(repaired):
    text = repaired(code())
    begin = text.index("CPy_TRASHCAN_BEGIN")
    assert text[begin : text.index("CPy_TRASHCAN_END")].splitlines() == [
        "CPy_TRASHCAN_BEGIN(self, m___Thing_dealloc)",
        "PyTypeObject *type = Py_TYPE(self);",
        "if (type->tp_weaklistoffset != 0) PyObject_ClearWeakRefs((PyObject *)self);",
        "CPyDef_m___Thing_clear((PyObject *)self);",
        "Py_TYPE(self)->tp_free((PyObject *)self);",
        "Py_DECREF(type);",
    ]
    assert WEAK not in text
    assert text.count("Py_VISIT(Py_TYPE(self));") == 1
    assert ".tp_members" not in text


def test_a_class_without_attributes_has_no_weak_references_to_tell(repaired):
    text = repaired(code(weak=False))
    assert "PyObject_ClearWeakRefs" not in text
    assert text.count("Py_DECREF(type);") == text.count("Py_VISIT(Py_TYPE(self));") == 1


def test_newer_pythons_keep_the_list_themselves(repaired):
    text = repaired(code(weak=False, managed=True))
    assert text.count("PyObject_ClearWeakRefs") == text.count("Py_DECREF(type);") == 1


def test_a_function_with_attributes_is_not_reused_and_keeps_its_members(repaired):
    text = repaired(code(derived=False, reused=True))
    assert "m___Thing_free_instance == NULL" not in text
    assert ".tp_members" in text


def test_memory_without_attributes_is_reused(repaired):
    text = repaired(code(weak=False, derived=False, reused=True))
    assert "if (m___Thing_free_instance == NULL) {" in text


def test_what_the_collector_does_not_see_is_not_visited(repaired):
    text = repaired(code(weak=False, collected=False))
    assert "Py_VISIT" not in text
    assert "Py_DECREF(type);" in text


def test_the_collector_is_not_shown_what_is_none(repaired):
    text = repaired(code().replace("int rv = 0;", "Py_VISIT(self->_next0);\nint rv = 0;"))
    assert "\nif (self->_next0 != Py_None) Py_VISIT(self->_next0);\n" in text


SET_UP = """static int CPyExec_adjoint___m__impl(PyObject *module)
{
char result = CPyDef_m_____top_level__();
}
PyObject *CPyInit_adjoint___m(void)
{
}
char CPyDef_m_____top_level__(void) {
}
"""


def test_what_sets_a_module_up_is_seldom_run(repaired):
    text = repaired(code() + SET_UP)
    assert re.findall(r"^Py_GCC_ATTRIBUTE\(\(cold\)\) (.*)$", text, re.MULTILINE) == [
        "static int CPyExec_adjoint___m__impl(PyObject *module)",
        "PyObject *CPyInit_adjoint___m(void)",
        "char CPyDef_m_____top_level__(void) {",
    ]
    assert text.count("Py_GCC_ATTRIBUTE") == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (code() + SET_UP.replace("CPyInit_", "CPyStart_"), "set up by [0, 1] functions"),
        (code(visits=0), "class m___Thing: found 0 times, not 1"),
        (code(visits=2), "class m___Thing: found 2 times, not 1"),
        (code(clears=1), "class m___Thing: found 1 times, not 2"),
        (code(clears=3), "class m___Thing: found 3 times, not 2"),
        (code().replace("tp_free(", "tp_free_all("), "deallocator of class m___Thing"),
        (code().replace("TRASHCAN_BEGIN(self, m___Thing", "TRASHCAN_BEGIN(self, m"), "m___Thing"),
        (code().replace("m___Thing_dealloc(Thing", "m___Thing_end(Thing"), "no deallocator of its"),
        (code().replace("(destructor)m___Thing", "(destructor)other"), "no deallocator of its"),
        (code().replace("visitproc visit", "visitproc v"), "class m___Thing: found 0"),
        (code().replace(".tp_members = m", ".tp_members = other"), "class m___Thing: found 0"),
        (code() + "CPy_TRASHCAN_BEGIN(self, other)\n", "all classes: found 2 times, not 1"),
        (code() + "other_traverse(Other *self, void *arg)\n", "all classes: found 2 times"),
        (code() + WEAK.replace("Thing", "Other") + "\n", "all classes: found 1 times, not 0"),
        (HEADER + code() + READ, "1 reads of Python's objects, but 0"),
        (HEADER + code() + SETTINGS, "1 reads of settings, but 0"),
    ],
)
def test_code_of_another_form_fails_the_build(repaired, tmp_path, text, problem):
    with pytest.raises(SCRIPT.UnexpectedCodeError, match=re.escape(problem)) as caught:
        repaired(text)
    assert str(tmp_path / "__native.c") in str(caught.value)
    assert (tmp_path / "__native.c").read_text() == text


def test_frames_are_read_by_pythons_own_functions(repaired):
    text = repaired(HEADER + code() + READ, "code = frame.f_code\n")
    read = "(PyObject *)PyFrame_GetCode((PyFrameObject *)cpy_r_r0)"
    slowly = "CPyObject_GetAttr(cpy_r_r0, cpy_r_r1)"
    assert f"cpy_r_r2 = PyFrame_Check(cpy_r_r0) ? {read} : {slowly};" in text


@pytest.mark.parametrize(
    ("name", "check", "macro"),
    [
        ("__code__", "PyFunction_Check(cpy_r_r0)", "PyFunction_GET_CODE"),
        ("__defaults__", "PyFunction_Check(cpy_r_r0)", "PyFunction_GET_DEFAULTS"),
        (
            "cell_contents",
            "PyCell_Check(cpy_r_r0) && PyCell_GET(cpy_r_r0) != NULL",
            "PyCell_GET",
        ),
    ],
)
def test_functions_and_cells_are_read_so_too(repaired, name, check, macro):
    text = repaired(HEADER + code() + READ.replace("f_code", name), f"code = owner.{name}\n")
    read = f"adjoint_held({macro}(cpy_r_r0))"
    slowly = "CPyObject_GetAttr(cpy_r_r0, cpy_r_r1)"
    assert f"cpy_r_r2 = {check} ? {read} : {slowly};" in text
    assert text.index(HEADER) < text.index("*adjoint_held") < text.index("Thing")


def test_a_read_of_a_frame_that_is_not_found_fails_the_build(repaired):
    with pytest.raises(SCRIPT.UnexpectedCodeError, match="1 reads of Python's objects, but 2"):
        repaired(HEADER + code() + READ, "code, place = frame.f_code, frame.f_lasti\n")


def test_settings_are_read_from_their_variable(repaired):
    text = repaired(HEADER + code() + SETTINGS, "settings = current()\n")
    assert "cpy_r_r2 = adjoint_settings(cpy_r_r0);" in text
    assert text.index(HEADER) < text.index("PyContextVar_Get") < text.index("Thing")


def test_settings_need_the_place_where_functions_begin(repaired):
    with pytest.raises(SCRIPT.UnexpectedCodeError, match="what is read: found 0 times"):
        repaired(code() + SETTINGS, "settings = current()\n")


MAKER = """tensor___Tensor_new(PyTypeObject *type, PyObject *args, PyObject *kwds)
{
    PyObject *self = CPyDef_tensor_____mypyc__Tensor_setup((PyObject*)type);
    if (self == NULL)
        return NULL;
    return self;
}
"""


def test_arguments_of_new_reach_init(tmp_path):
    source = tmp_path / "native.c"
    named = code().replace("m___Thing", "tensor___Tensor")
    source.write_text(named + MAKER)
    SCRIPT.repair(source, [])
    text = source.read_text()
    call = "CPyPy_tensor___Tensor_____init__(self, args, kwds)"
    assert text.index("_setup(") < text.index(call) < text.rindex("return self;")


def test_another_new_fails_the_build(tmp_path):
    source = tmp_path / "native.c"
    named = code().replace("m___Thing", "tensor___Tensor")
    source.write_text(named + MAKER.replace("return self", "return other"))
    with pytest.raises(SCRIPT.UnexpectedCodeError, match="__new__ of class tensor___Tensor"):
        SCRIPT.repair(source, [])
