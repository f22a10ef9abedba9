/* Large blocks that NumPy frees are kept for its next arrays: to get new pages of the system, which
 * fills them with zeros, takes longer than most work on them. docs/notes/backends.md has the figures.
 *
 * NumPy asks with the interpreter's lock held, so there is no other.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <string.h>

#define LEAST ((size_t)30 << 20) /* bytes: the C library can keep smaller blocks by itself */
#define PLACES 16

typedef struct {
    void *place;
    size_t size;
} Block;

static Block kept[PLACES]; /* from the first that was freed to the last */
static int count = 0;
static size_t total = 0, most = 0;
static const PyDataMemAllocator *below = NULL; /* NumPy's own */

static Block taken(int i) {
    const Block block = kept[i];
    count--;
    total -= block.size;
    memmove(kept + i, kept + i + 1, (size_t)(count - i) * sizeof(Block));
    return block;
}

static void give_back_oldest(void) {
    const Block block = taken(0);
    below->free(below->ctx, block.place, block.size);
}

static void *new_block(void *ctx, size_t size) {
    (void)ctx;
    if (size >= LEAST) {
        for (int i = count - 1; i >= 0; i--) {
            if (kept[i].size == size) return taken(i).place;
        }
    }
    return below->malloc(below->ctx, size);
}

static void free_block(void *ctx, void *place, size_t size) {
    (void)ctx;
    if (place == NULL || size < LEAST || size > most) {
        below->free(below->ctx, place, size);
        return;
    }
    while (count == PLACES || total + size > most) give_back_oldest();
    kept[count].place = place;
    kept[count].size = size;
    count++;
    total += size;
}

static void *new_zeros(void *ctx, size_t elements, size_t size) {
    (void)ctx;
    return below->calloc(below->ctx, elements, size);
}

static void *resized(void *ctx, void *place, size_t size) {
    (void)ctx;
    return below->realloc(below->ctx, place, size);
}

static PyDataMem_Handler handler = {
    "adjoint", 1, {NULL, new_block, new_zeros, resized, free_block}};

static PyObject *keep(PyObject *module, PyObject *limit) {
    const size_t bytes = PyLong_AsSize_t(limit);
    (void)module;
    if (bytes == (size_t)-1 && PyErr_Occurred()) return NULL;
    if (below == NULL) {
        PyObject *own = PyCapsule_New(&handler, "mem_handler", NULL);
        if (own == NULL) return NULL;
        PyObject *before = PyDataMem_SetHandler(own); /* of this context; held for good */
        Py_DECREF(own);
        if (before == NULL) return NULL;
        const PyDataMem_Handler *found = PyCapsule_GetPointer(before, "mem_handler");
        if (found == NULL) return NULL;
        below = &found->allocator;
    }
    most = bytes;
    while (count > 0 && total > most) give_back_oldest();
    Py_RETURN_NONE;
}

static PyObject *held(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    return PyLong_FromSize_t(total);
}

/* NumPy tells Python of it in a dictionary, which takes ten times as long to make. */
static PyObject *address(PyObject *module, PyObject *array) {
    (void)module;
    if (!PyArray_Check(array)) {
        PyErr_Format(PyExc_TypeError, "expected an array of NumPy's, got %R", Py_TYPE(array));
        return NULL;
    }
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

/* Which sets of instructions beyond the least this machine has: 1 for AVX2, 3 with AVX-512. Asked
 * here, since a module of loops is compiled with what it may not find. */
static int instructions(void) {
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const int avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl");
    return avx512 ? 3 : avx2;
#else
    return 0;
#endif
}

static PyMethodDef methods[] = {
    {"keep", keep, METH_O, "Keep so many bytes of freed blocks in this context from now on."},
    {"held", held, METH_NOARGS, "The bytes that are kept."},
    {"address", address, METH_O, "Where the first element of an array lies."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit_pages(void) {
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "pages", NULL, -1, methods,
                                            NULL, NULL, NULL, NULL};
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "instructions", instructions()) < 0)
        Py_CLEAR(module);
    return module;
}
