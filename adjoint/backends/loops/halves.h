/* Floats of 16 bits: blocks of them are widened to float, which any loop for floats computes with,
 * and its results are rounded once. bfloat16, which NumPy has not, comes as unsigned integers.
 */
#if defined(__F16C__)
#include <immintrin.h>

static void widen_halves(float *to, const npy_uint16 *from, npy_intp count) {
    npy_intp i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm256_loadu_si256((const __m256i *)(from + i));
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(bits));
    }
#endif
    for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm_loadu_si128((const __m128i *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
    }
    for (; i < count; i++) to[i] = _cvtsh_ss(from[i]);
}

static void round_to_halves(npy_uint16 *to, const float *from, npy_intp count) {
    npy_intp i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)(to + i), bits);
    }
#endif
    for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0);
        _mm_storeu_si128((__m128i *)(to + i), bits);
    }
    for (; i < count; i++) to[i] = _cvtss_sh(from[i], 0);
}
#endif

static void widen_brains(float *to, const npy_uint16 *from, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        const npy_uint32 bits = (npy_uint32)from[i] << 16;
        memcpy(to + i, &bits, 4);
    }
}

static void round_to_brains(npy_uint16 *to, const float *from, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        npy_uint32 bits;
        memcpy(&bits, from + i, 4);
        const npy_uint32 even = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        to[i] = (npy_uint16)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : even);
    }
}

typedef struct {
    void (*widen)(float *, const npy_uint16 *, npy_intp);
    void (*round)(npy_uint16 *, const float *, npy_intp);
    PyUFuncGenericFunction function; /* of floats */
    void *data;
    int operands;
    int all; /* with the results */
    char narrow[MOST];
} Narrow;

static void load_narrow(const Narrow *own, float *to, const char *from, npy_intp step, npy_intp n) {
    npy_uint16 gathered[BLOCK];
    if (step != 2) {
        for (npy_intp i = 0; i < n; i++) memcpy(gathered + i, from + i * step, 2);
        from = (const char *)gathered;
    }
    own->widen(to, (const npy_uint16 *)from, n);
}

static void store_narrow(const Narrow *own, char *to, npy_intp step, const float *from,
                         npy_intp n) {
    npy_uint16 rounded[BLOCK];
    own->round(step == 2 ? (npy_uint16 *)to : rounded, from, n);
    if (step == 2) return;
    for (npy_intp i = 0; i < n; i++) memcpy(to + i * step, rounded + i, 2);
}

static void run_narrow(char **args, const npy_intp *dimensions, const npy_intp *steps,
                       void *data) {
    const Narrow *own = data;
    const npy_intp count = dimensions[0];
    float blocks[BLOCKS][BLOCK];
    char *places[MOST];
    npy_intp own_steps[MOST];
    for (int k = 0; k < own->all; k++) own_steps[k] = own->narrow[k] ? 4 : steps[k];
    for (npy_intp start = 0; start < count; start += BLOCK) {
        const npy_intp n = count - start < BLOCK ? count - start : BLOCK;
        int used = 0;
        for (int k = 0; k < own->all; k++) {
            places[k] = args[k] + start * steps[k];
            if (!own->narrow[k]) continue;
            float *block = blocks[used++];
            if (k < own->operands && (start == 0 || steps[k] != 0))
                load_narrow(own, block, places[k], steps[k], n);
            places[k] = (char *)block;
        }
        own->function(places, &n, own_steps, own->data);
        for (int k = own->operands; k < own->all; k++) {
            if (!own->narrow[k]) continue;
            store_narrow(own, args[k] + start * steps[k], steps[k], (const float *)places[k], n);
        }
    }
    forget_exceptions();
}

/* Where a ufunc's loop for floats is: its arrays are floats, its numbers are doubles; or -1. */
static int loop_of_floats(const PyUFuncObject *ufunc) {
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        int floats = 0, others = 0;
        for (int k = 0; k < ufunc->nin; k++) {
            floats += types[k] == NPY_FLOAT;
            others += types[k] != NPY_FLOAT && types[k] != NPY_DOUBLE;
        }
        if (floats && !others) return i;
    }
    return -1;
}

#define FORMS 6 /* of two types each all operands, or of two operands but one */

typedef struct {
    PyUFuncGenericFunction functions[FORMS];
    void *data[FORMS];
    char types[FORMS * MOST];
    Narrow each[FORMS];
} Forms;

static void add_form(Forms *forms, int number, const PyUFuncObject *ufunc, int loop, int brain,
                     int wide) {
    Narrow *own = &forms->each[number];
    const char *types = ufunc->types + loop * ufunc->nargs;
    own->function = ufunc->functions[loop];
    own->data = ufunc->data == NULL ? NULL : (void *)ufunc->data[loop];
    own->operands = ufunc->nin;
    own->all = ufunc->nargs;
    own->widen = widen_brains;
    own->round = round_to_brains;
#if defined(__F16C__)
    if (!brain) own->widen = widen_halves, own->round = round_to_halves;
#endif
    for (int k = 0; k < ufunc->nargs; k++) {
        own->narrow[k] = types[k] == NPY_FLOAT && k != wide;
        forms->types[number * ufunc->nargs + k] =
            own->narrow[k] ? (brain ? NPY_UINT16 : NPY_HALF) : types[k];
    }
    forms->functions[number] = run_narrow;
    forms->data[number] = own;
}

/* The ufunc that computes with 16-bit floats what another does with floats; None if it can't. */
static PyObject *narrow_form(PyObject *module, PyObject *function) {
    PyUFuncObject *ufunc = (PyUFuncObject *)function;
    if (!PyObject_TypeCheck(function, &PyUFunc_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a ufunc");
        return NULL;
    }
    const int loop = loop_of_floats(ufunc);
    if (loop < 0 || ufunc->nargs > BLOCKS || ufunc->core_enabled) Py_RETURN_NONE;
    Forms *forms = PyMem_Calloc(1, sizeof(Forms)); /* it stays as long as the ufunc, for good */
    if (forms == NULL) return PyErr_NoMemory();
    const int choices = ufunc->nin == 2 && ufunc->types[loop * ufunc->nargs + 1] == NPY_FLOAT;
    int count = 0;
#if defined(__F16C__)
    const int kinds = 2;
#else
    const int kinds = 1;
#endif
    for (int kind = 0; kind < kinds; kind++)
        for (int wide = -1; wide < (choices ? 2 : 0); wide++)
            add_form(forms, count++, ufunc, loop, kind == kinds - 1, wide);
    return PyUFunc_FromFuncAndData(forms->functions, forms->data, forms->types, count, ufunc->nin,
                                   ufunc->nout, PyUFunc_None, ufunc->name,
                                   "One pass over operands of 16 bits.", 0);
}

#if defined(__F16C__)
static void widened(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Narrow own = {.widen = widen_halves};
    float block[BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        const npy_intp left = dimensions[0] - start, n = left < BLOCK ? left : BLOCK;
        char *to = args[1] + start * steps[1];
        float *wide = steps[1] == 4 ? (float *)to : block;
        load_narrow(&own, wide, args[0] + start * steps[0], steps[0], n);
        if (wide == block) scatter(to, steps[1], (const char *)block, n, 4);
    }
    forget_exceptions();
}

static void narrowed(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Narrow own = {.round = round_to_halves};
    float block[BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        const npy_intp left = dimensions[0] - start, n = left < BLOCK ? left : BLOCK;
        const char *from = args[0] + start * steps[0];
        if (steps[0] != 4) gather((char *)block, from, steps[0], n, 4);
        store_narrow(&own, args[1] + start * steps[1], steps[1],
                     steps[0] == 4 ? (const float *)from : block, n);
    }
    forget_exceptions();
}
#endif
