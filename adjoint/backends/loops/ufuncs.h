/* What a file of loops begins with: how NumPy calls a function over elements that lie in order.
 *
 * Operands that lie otherwise are gathered into blocks, so that every element is computed by the
 * same instructions wherever it lies, and each function is compiled once.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <errno.h>
#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

/* Results may lie where an operand does, element for element. */
#if defined(__clang__)
#define IN_ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define IN_ANY_ORDER _Pragma("GCC ivdep")
#elif defined(_MSC_VER)
#define IN_ANY_ORDER __pragma(loop(ivdep))
#else
#define IN_ANY_ORDER
#endif

/* A few steps, always as many, are written out, whatever size the compiler would mind. */
#if defined(__GNUC__) && !defined(__clang__)
#define WRITTEN_OUT _Pragma("GCC unroll 16")
#else
#define WRITTEN_OUT
#endif

/* A loop is turned into vector instructions only if it calls nothing. */
#if defined(__GNUC__)
#define WHOLE __attribute__((flatten))
#else
#define WHOLE
#endif

/* What many loops call is compiled once. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif

/* What is called seldom is to be small. */
#if defined(__GNUC__) && !defined(__clang__)
#define SELDOM __attribute__((noinline, optimize("Os")))
#else
#define SELDOM APART
#endif

#define BLOCK 512
#define BLOCKS 12 /* arrays, the results among them */
#define MOST 32   /* operands and results */

typedef struct {
    void (*function)(char **, npy_intp);
    int arrays;
    int numbers; /* the same for all elements: their addresses are passed on */
    int results;
    int size;   /* of an element, in bytes */
    int result; /* of an element of a result */
} Kernel;

typedef struct {
    const char *name;
    const Kernel *kernels; /* for float, for double */
    int operands;
    int results;
    char types[2 * MOST];
} Entry;

/* Branches that were not taken may have divided by zero: no reason for a warning. */
static void forget_exceptions(void) {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_setcsr(_mm_getcsr() & ~0x3fu);
#else
    feclearexcept(FE_ALL_EXCEPT);
#endif
}

/* A loop has no room to work in. A thread that Python does not know leaves word for its caller. */
APART static void no_memory(void) {
    if (PyGILState_GetThisThreadState() == NULL) {
        errno = ENOMEM;
        return;
    }
    NPY_ALLOW_C_API_DEF
    NPY_ALLOW_C_API;
    PyErr_NoMemory();
    NPY_DISABLE_C_API;
}

APART static void gather(char *to, const char *from, npy_intp step, npy_intp count, int size) {
    if (step == size) {
        memmove(to, from, (size_t)(count * size));
    } else if (size == 4) {
        for (npy_intp i = 0; i < count; i++) memcpy(to + 4 * i, from + i * step, 4);
    } else if (size == 8) {
        for (npy_intp i = 0; i < count; i++) memcpy(to + 8 * i, from + i * step, 8);
    } else {
        for (npy_intp i = 0; i < count; i++) to[i] = from[i * step];
    }
}

APART static void scatter(char *to, npy_intp step, const char *from, npy_intp count, int size) {
    if (step == size) {
        memcpy(to, from, (size_t)(count * size));
    } else if (size == 4) {
        for (npy_intp i = 0; i < count; i++) memcpy(to + i * step, from + 4 * i, 4);
    } else if (size == 8) {
        for (npy_intp i = 0; i < count; i++) memcpy(to + i * step, from + 8 * i, 8);
    } else {
        for (npy_intp i = 0; i < count; i++) to[i * step] = from[i];
    }
}

static void run(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Kernel *kernel = data;
    const npy_intp count = dimensions[0];
    const int arrays = kernel->arrays, first = arrays + kernel->numbers;
    const int all = first + kernel->results;
    char *places[MOST];
    int ordered = 1;
    for (int k = 0; k < arrays; k++) ordered &= steps[k] == kernel->size;
    for (int k = first; k < all; k++) ordered &= steps[k] == kernel->result;
    for (int k = 0; k < all; k++) places[k] = args[k];
    if (ordered) {
        kernel->function(places, count);
        forget_exceptions();
        return;
    }
    double blocks[BLOCKS][BLOCK];
    for (int k = 0; k < arrays; k++) {
        const npy_intp n = count < BLOCK ? count : BLOCK;
        if (steps[k] == 0) gather((char *)blocks[k], args[k], 0, n, kernel->size);
    }
    for (npy_intp start = 0; start < count; start += BLOCK) {
        const npy_intp n = count - start < BLOCK ? count - start : BLOCK;
        for (int k = 0; k < arrays; k++) {
            places[k] = args[k] + start * steps[k];
            if (steps[k] == kernel->size) continue;
            if (steps[k] != 0) gather((char *)blocks[k], places[k], steps[k], n, kernel->size);
            places[k] = (char *)blocks[k];
        }
        for (int k = first; k < all; k++) {
            places[k] = args[k] + start * steps[k];
            if (steps[k] != kernel->result) places[k] = (char *)blocks[arrays + k - first];
        }
        kernel->function(places, n);
        for (int k = first; k < all; k++) {
            char *out = args[k] + start * steps[k];
            if (places[k] != out) scatter(out, steps[k], places[k], n, kernel->result);
        }
    }
    forget_exceptions();
}
