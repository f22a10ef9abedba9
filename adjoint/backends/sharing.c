/* Threads that share one call of a ufunc, bit for bit what one thread makes of it.
 *
 * A shared ufunc keeps its loops: while threads are allowed, NumPy reaches them through `run`,
 * which cuts the outermost count in parts. Who calls does parts as the others do, and waits only
 * for those that are at one; nobody waits for the interpreter's lock. docs/notes/kernels.md has
 * the story.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define LEAST 32768        /* elements from which a call is shared */
#define SHORTEST 8192      /* elements of a part */
#define STEP 1024          /* parts begin at multiples of it, where vectors of one thread do */
#define PATIENCE 200000    /* nanoseconds that a thread without work looks out for more */
#define GAP 100000         /* of those, before it lets others have its processor */
#define OPERANDS 32
#define CORES 16
#define THREADS 64

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE()
#endif

typedef struct {
    PyUFuncGenericFunction function;
    void *data;
    int operands;
    int all;   /* with the results */
    int cores; /* dimensions that belong to one element of the outermost */
    npy_intp most; /* elements of those, above which a loop has threads of its own */
    const PyUFuncObject *ufunc;
} Loop;

/* ---- the threads ---- */

static struct {
    const Loop *loop;
    char **args;
    const npy_intp *dimensions, *steps;
    npy_intp count, length; /* in all, and of a part */
    npy_intp next;          /* where the next part begins */
    fenv_t rounding;        /* and what else the caller's processor is set to */
    int exceptions;         /* of floating point, that parts have raised */
    int memory;             /* that was not there */
} work;

static int allowed = 1; /* threads for one call, the caller's among them */
static int started = 0, refused = 0;
static int taken = 0;     /* a call has the threads */
static int holds = 0;     /* of those whose work Python's threads share */
static unsigned turn = 0; /* odd while there is work */
static int inside = 0;    /* threads that may be at a part */
static int sleeping = 0;
static int caller = -1; /* the processor of who has them */
static npy_intp helped = 0; /* calls in which another thread did a part */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static int do_parts(void) { /* whether there were any left */
    const Loop *loop = work.loop;
    char *args[OPERANDS];
    npy_intp dimensions[1 + CORES];
    memcpy(dimensions, work.dimensions, (size_t)(1 + loop->cores) * sizeof(npy_intp));
    for (int some = 0;; some = 1) {
        const npy_intp start = __atomic_fetch_add(&work.next, work.length, __ATOMIC_RELAXED);
        if (start >= work.count) return some;
        const npy_intp left = work.count - start;
        dimensions[0] = left < work.length ? left : work.length;
        for (int k = 0; k < loop->all; k++) args[k] = work.args[k] + start * work.steps[k];
        loop->function(args, dimensions, work.steps, loop->data);
    }
}

static void help(void) {
    fesetenv(&work.rounding);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 0;
    if (do_parts()) __atomic_fetch_add(&helped, 1, __ATOMIC_RELAXED);
    if (errno == ENOMEM) __atomic_store_n(&work.memory, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&work.exceptions, fetestexcept(FE_ALL_EXCEPT), __ATOMIC_RELAXED);
}

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#if defined(__linux__)
#define PROCESSOR() sched_getcpu()
/* Where all processors are busy, who is woken waits for that of the caller, whom it is to help. */
static void leave_processor(int number) {
    cpu_set_t own, others;
    if (sched_getcpu() != number || sched_getaffinity(0, sizeof(own), &own) != 0) return;
    others = own;
    CPU_CLR(number, &others);
    if (CPU_COUNT(&others) && sched_setaffinity(0, sizeof(others), &others) == 0)
        sched_setaffinity(0, sizeof(own), &own);
}
#else
#define PROCESSOR() -1
#define leave_processor(number) (void)(number)
#endif

static int is_called(int number, unsigned seen) {
    const unsigned now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
    return (now & 1) && now != seen && number < __atomic_load_n(&allowed, __ATOMIC_RELAXED);
}

/* Looks out for work for a while, then sleeps until the bell; there need be none even then. */
static void wait_for_work(int number, unsigned seen) {
    const long long start = nanoseconds();
    long long now = start;
    while (number < __atomic_load_n(&allowed, __ATOMIC_RELAXED) && now < start + PATIENCE) {
        for (int i = 0; i < 64; i++) {
            if (is_called(number, seen)) return;
            PAUSE();
        }
        now = nanoseconds();
        /* To whom BLAS has given work, or another process, which may keep it for milliseconds. */
        if (now > start + GAP) sched_yield();
    }
    pthread_mutex_lock(&lock);
    __atomic_fetch_add(&sleeping, 1, __ATOMIC_SEQ_CST);
    if (!is_called(number, seen)) pthread_cond_wait(&bell, &lock);
    __atomic_fetch_sub(&sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
    leave_processor(__atomic_load_n(&caller, __ATOMIC_RELAXED));
}

static void *attend(void *given) {
    const int number = (int)(npy_intp)given;
    unsigned seen = 0;
    for (;;) {
        if (!is_called(number, seen)) {
            wait_for_work(number, seen);
            continue;
        }
        __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
        const unsigned now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
        if (now & 1) { /* the caller sees this thread inside before it lets go of the work */
            seen = now;
            help();
        }
        __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* No signal is for these threads: Python hears them in its own. */
static void start_threads(void) {
    sigset_t all, before;
    pthread_attr_t detached;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (started < allowed - 1 && !refused) {
        pthread_t thread;
        refused = pthread_create(&thread, &detached, attend, (void *)(npy_intp)(started + 1)) != 0;
        started += !refused;
    }
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void forget_threads(void) { /* in a process that was forked, which has none of them */
    started = refused = taken = holds = inside = sleeping = 0;
    turn = 0;
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&bell, NULL);
}

static int take_threads(void) {
    int none = 0;
    if (__atomic_load_n(&taken, __ATOMIC_RELAXED) || __atomic_load_n(&holds, __ATOMIC_RELAXED) > 0)
        return 0;
    if (!__atomic_compare_exchange_n(&taken, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    if (started < allowed - 1 && !refused) start_threads();
    if (started && allowed > 1) return 1;
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
    return 0;
}

static void share_parts(void) {
    fegetenv(&work.rounding);
    work.next = work.exceptions = work.memory = 0;
    __atomic_store_n(&caller, PROCESSOR(), __ATOMIC_RELAXED);
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleeping, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&lock);
        pthread_cond_broadcast(&bell);
        pthread_mutex_unlock(&lock);
    }
    do_parts();
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST); /* who comes now finds nothing to do */
    for (int i = 0; __atomic_load_n(&inside, __ATOMIC_SEQ_CST); i++) {
        if (i < 4096) PAUSE();
        else sched_yield();
    }
    if (work.exceptions) feraiseexcept(work.exceptions);
    const int memory = work.memory;
    __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
    if (memory) {
        NPY_ALLOW_C_API_DEF
        NPY_ALLOW_C_API;
        PyErr_NoMemory();
        NPY_DISABLE_C_API;
    }
}

/* ---- what NumPy calls ---- */

typedef struct {
    npy_uintp first, last;
} Range;

static Range range_of(const char *place, npy_intp step, npy_intp count) {
    const npy_uintp start = (npy_uintp)place, end = start + (npy_uintp)(step * (count - 1));
    const npy_uintp size = step == 0 ? 1 : (npy_uintp)(step < 0 ? -step : step);
    const Range range = {step < 0 ? end : start, (step < 0 ? start : end) + size - 1};
    return range;
}

/* Whether no element of a result is read or written as another: not so in sums of prefixes. */
static int are_apart(const Loop *loop, char **args, npy_intp count, const npy_intp *steps) {
    for (int k = loop->operands; k < loop->all; k++) {
        if (steps[k] == 0) return 0;
        const Range own = range_of(args[k], steps[k], count);
        for (int i = 0; i < loop->all && !loop->cores; i++) {
            if (args[i] == args[k] && steps[i] == steps[k]) continue;
            const Range other = range_of(args[i], steps[i], count);
            if (own.first <= other.last && other.first <= own.last) return 0;
        }
    }
    return 1;
}

/* How many elements belong to one of the outermost count, of the operand that has most. */
static npy_intp core_size(const Loop *loop, const npy_intp *dimensions) {
    const PyUFuncObject *ufunc = loop->ufunc;
    npy_intp most = 1;
    for (int k = 0; loop->cores && k < loop->all; k++) {
        const int *own = ufunc->core_dim_ixs + ufunc->core_offsets[k];
        npy_intp size = 1;
        for (int i = 0; i < ufunc->core_num_dims[k]; i++) size *= dimensions[1 + own[i]];
        if (size > most) most = size;
    }
    return most;
}

/* Shares a call; who calls this has taken the threads. */
static void share_rows(const Loop *loop, char **args, const npy_intp *dimensions,
                       const npy_intp *steps, npy_intp each) {
    const npy_intp count = dimensions[0];
    const npy_intp parts = (loop->cores && each >= SHORTEST ? 4 : 2) * allowed;
    npy_intp length = (count + parts - 1) / parts;
    if (!loop->cores && each == 1) length = (length + STEP - 1) / STEP * STEP;
    if (length * each < SHORTEST) length = (SHORTEST + each - 1) / each;
    work.loop = loop;
    work.args = args;
    work.dimensions = dimensions;
    work.steps = steps;
    work.count = count;
    work.length = length;
    share_parts();
}

static void run(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Loop *loop = data;
    const npy_intp count = dimensions[0], each = core_size(loop, dimensions);
    const int large = count > 1 && each <= loop->most && count * each >= LEAST;
    if (!large || !are_apart(loop, args, count, steps) || !take_threads()) {
        loop->function(args, dimensions, steps, loop->data);
        return;
    }
    share_rows(loop, args, dimensions, steps, each);
}

/* ---- ufuncs that are shared ---- */

typedef struct Shared {
    PyUFuncObject *ufunc;
    PyUFuncGenericFunction *functions[2]; /* its own, and those through `run` */
    void *const *data[2];
    struct Shared *next;
} Shared;

static Shared *all_shared = NULL;

static void point(const Shared *shared) {
    const int through = allowed > 1;
    shared->ufunc->functions = shared->functions[through];
    shared->ufunc->data = shared->data[through];
}

static const char all_letters[] = "?bBhHiIlLqQfdgFDGOSUVMme"; /* of types, by their numbers */

/* Whether all types of a loop are among some, by their letters; objects would want the lock. */
static int has_types(const PyUFuncObject *ufunc, int number, const char *letters) {
    for (int k = 0; k < ufunc->nargs; k++) {
        const int type = ufunc->types[number * ufunc->nargs + k];
        if (type < 0 || type > NPY_HALF || !strchr(letters, all_letters[type])) return 0;
    }
    return 1;
}

static PyObject *share(PyObject *module, PyObject *args) {
    PyUFuncObject *ufunc;
    const char *letters;
    Py_ssize_t most;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!sn", &PyUFunc_Type, &ufunc, &letters, &most)) return NULL;
    const int cores = ufunc->core_enabled ? ufunc->core_num_dim_ix : 0;
    if (ufunc->nargs > OPERANDS || cores > CORES) Py_RETURN_NONE;
    const size_t count = (size_t)ufunc->ntypes;
    Shared *shared = PyMem_Calloc(1, sizeof(Shared)); /* all of it for good, as the ufunc */
    PyUFuncGenericFunction *functions = PyMem_Calloc(count, sizeof(*functions));
    void **data = PyMem_Calloc(count, sizeof(*data));
    Loop *loops = PyMem_Calloc(count, sizeof(*loops));
    if (shared == NULL || functions == NULL || data == NULL || loops == NULL) {
        PyMem_Free(shared), PyMem_Free(functions), PyMem_Free(data), PyMem_Free(loops);
        return PyErr_NoMemory();
    }
    for (int i = 0; i < ufunc->ntypes; i++) {
        void *own = ufunc->data == NULL ? NULL : (void *)ufunc->data[i];
        const Loop loop = {ufunc->functions[i], own, ufunc->nin, ufunc->nargs, cores, most, ufunc};
        const int known = has_types(ufunc, i, letters);
        loops[i] = loop;
        functions[i] = known ? run : loop.function;
        data[i] = known ? &loops[i] : own;
    }
    const Shared made = {(PyUFuncObject *)Py_NewRef((PyObject *)ufunc),
                         {ufunc->functions, functions}, {ufunc->data, data}, all_shared};
    *shared = made;
    all_shared = shared;
    point(shared);
    Py_RETURN_NONE;
}

/* ---- calls without NumPy's iterator, which knows of rows only ---- */

#define DIMENSIONS 32

typedef struct {
    const Loop *loop;
    int middle; /* dimensions between the one that is shared and the one that a loop goes along */
    npy_intp sizes[DIMENSIONS], steps[DIMENSIONS][OPERANDS];
    npy_intp length, along[OPERANDS]; /* of the last one */
} Walk;

/* Some elements of the shared dimension: a loop for each row of what belongs to one. */
static void walk(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Walk *given = data;
    const Loop *loop = given->loop;
    for (npy_intp i = 0; i < dimensions[0]; i++) {
        npy_intp places[DIMENSIONS] = {0};
        char *row[OPERANDS];
        for (int k = 0; k < loop->all; k++) row[k] = args[k] + i * steps[k];
        for (int d = 0; d >= 0;) {
            loop->function(row, &given->length, given->along, loop->data);
            for (d = given->middle - 1; d >= 0; d--) { /* to the next row, the last place first */
                const int ends = ++places[d] == given->sizes[d];
                if (ends) places[d] = 0;
                for (int k = 0; k < loop->all; k++) {
                    row[k] += given->steps[d][k] * (ends ? 1 - given->sizes[d] : 1);
                }
                if (!ends) break;
            }
        }
    }
}

/* Finds the loop of a ufunc for the types of arrays; whether it is one that is shared. */
static int find_loop(const PyUFuncObject *ufunc, PyArrayObject **arrays, Loop *found) {
    const Shared *shared = all_shared;
    while (shared != NULL && shared->ufunc != ufunc) shared = shared->next;
    for (int i = 0; shared != NULL && i < ufunc->ntypes; i++) {
        int same = 1;
        for (int k = 0; k < ufunc->nargs; k++) {
            same &= ufunc->types[i * ufunc->nargs + k] == PyArray_TYPE(arrays[k]);
        }
        if (!same) continue;
        if (shared->functions[1][i] != run) return 0;
        *found = *(const Loop *)shared->data[1][i];
        return 1;
    }
    return 0;
}

static Range extent(PyArrayObject *array) {
    npy_uintp first = (npy_uintp)PyArray_BYTES(array), last = first;
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        const npy_intp step = PyArray_STRIDE(array, d) * (PyArray_DIM(array, d) - 1);
        if (step < 0) first += (npy_uintp)step;
        else last += (npy_uintp)step;
    }
    const Range range = {first, last + (npy_uintp)PyArray_ITEMSIZE(array) - 1};
    return range;
}

static int lie_alike(PyArrayObject *a, PyArrayObject *b) {
    if (PyArray_BYTES(a) != PyArray_BYTES(b) || PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int d = 0; d < PyArray_NDIM(a); d++) {
        if (PyArray_DIM(a, d) != PyArray_DIM(b, d)) return 0;
        if (PyArray_STRIDE(a, d) != PyArray_STRIDE(b, d)) return 0;
    }
    return 1;
}

/* Whether arrays can be gone through as they lie: none is written where another is read. */
static int can_walk(PyArrayObject **arrays, int all) {
    PyArrayObject *out = arrays[all - 1];
    const Range own = extent(out);
    for (int d = 0; d < PyArray_NDIM(out); d++) {
        if (PyArray_STRIDE(out, d) == 0 && PyArray_DIM(out, d) > 1) return 0;
    }
    for (int k = 0; k < all; k++) {
        if (!PyArray_ISALIGNED(arrays[k]) || !PyArray_ISNOTSWAPPED(arrays[k])) return 0;
        if (k == all - 1 || lie_alike(arrays[k], out)) continue;
        const Range other = extent(arrays[k]);
        if (own.first <= other.last && other.first <= own.last) return 0;
    }
    return PyArray_ISWRITEABLE(out);
}

static npy_intp size_of_step(npy_intp step) { return step < 0 ? -step : step; }

/* The dimensions of a result, the widest steps first, those that lie as one joined; -1 if an
 * operand is not of that shape, nor repeated to it. */
static int joined_dimensions(PyArrayObject **arrays, int all, npy_intp *sizes,
                             npy_intp steps[DIMENSIONS][OPERANDS]) {
    PyArrayObject *out = arrays[all - 1];
    const int rank = PyArray_NDIM(out);
    int count = 0, order[DIMENSIONS];
    for (int d = 0; d < rank; d++) {
        int place = d;
        const npy_intp own = size_of_step(PyArray_STRIDE(out, d));
        for (; place > 0 && size_of_step(PyArray_STRIDE(out, order[place - 1])) < own; place--) {
            order[place] = order[place - 1];
        }
        order[place] = d;
    }
    for (int i = 0; i < rank; i++) {
        const npy_intp size = PyArray_DIM(out, order[i]);
        npy_intp own[OPERANDS];
        int joins = count > 0;
        for (int k = 0; k < all; k++) {
            const int d = order[i] - rank + PyArray_NDIM(arrays[k]);
            const npy_intp given = d < 0 ? 1 : PyArray_DIM(arrays[k], d);
            if (PyArray_NDIM(arrays[k]) > rank || (given != size && given != 1)) return -1;
            own[k] = given == 1 ? 0 : PyArray_STRIDE(arrays[k], d);
            joins = joins && steps[count - 1][k] == own[k] * size;
        }
        if (size == 1) continue;
        if (!joins) count++;
        sizes[count - 1] = joins ? sizes[count - 1] * size : size;
        memcpy(steps[count - 1], own, (size_t)all * sizeof(npy_intp));
    }
    return count;
}

/* Goes through arrays, the last of which is written, with threads; whether it could be done. */
static int go_through(const Loop *loop, PyArrayObject **arrays) {
    npy_intp sizes[DIMENSIONS], steps[DIMENSIONS][OPERANDS];
    char *args[OPERANDS];
    const int all = loop->all;
    const int count = can_walk(arrays, all) ? joined_dimensions(arrays, all, sizes, steps) : 0;
    if (count < 1) return 0;
    for (int k = 0; k < all; k++) args[k] = PyArray_BYTES(arrays[k]);
    int widest = 0; /* the dimension that is shared */
    for (int d = 1; d < count - 1; d++) widest = sizes[d] > sizes[widest] ? d : widest;
    Walk walked = {.loop = loop, .length = sizes[count - 1]};
    memcpy(walked.along, steps[count - 1], sizeof(walked.along));
    for (int d = 0; d < count - 1; d++) {
        if (d == widest) continue;
        walked.sizes[walked.middle] = sizes[d];
        memcpy(walked.steps[walked.middle++], steps[d], sizeof(steps[d]));
    }
    const Loop rows = {walk, &walked, loop->operands, all, 0, loop->most, NULL};
    const Loop *whole = count == 1 ? loop : &rows;
    const npy_intp each = PyArray_SIZE(arrays[all - 1]) / sizes[widest];
    Py_BEGIN_ALLOW_THREADS
    if (take_threads()) share_rows(whole, args, &sizes[widest], steps[widest], each);
    else whole->function(args, &sizes[widest], steps[widest], whole->data);
    Py_END_ALLOW_THREADS
    feclearexcept(FE_ALL_EXCEPT); /* nobody asks for them */
    return 1;
}

static PyObject *apply(PyObject *module, PyObject *const *given, Py_ssize_t number) {
    PyArrayObject *arrays[OPERANDS];
    Loop loop;
    (void)module;
    const PyUFuncObject *ufunc = (const PyUFuncObject *)given[0];
    if (number < 2 || !PyObject_TypeCheck(given[0], &PyUFunc_Type) || ufunc->nargs != number - 1 ||
        ufunc->nargs > OPERANDS || ufunc->nout != 1 || ufunc->core_enabled) {
        PyErr_SetString(PyExc_TypeError, "expected a ufunc, its operands and one result");
        return NULL;
    }
    for (int k = 0; k < ufunc->nargs; k++) {
        arrays[k] = (PyArrayObject *)given[k + 1];
        if (!PyArray_Check(given[k + 1]) || PyArray_NDIM(arrays[k]) > DIMENSIONS) Py_RETURN_FALSE;
    }
    if (PyArray_SIZE(arrays[ufunc->nargs - 1]) < LEAST) Py_RETURN_FALSE;
    return PyBool_FromLong(find_loop(ufunc, arrays, &loop) && go_through(&loop, arrays));
}

/* ---- copies ---- */

/* What is one element for all is read once, and written many at a time. */
#define COPY_EACH(T)                                                                               \
    {                                                                                              \
        T value;                                                                                   \
        memcpy(&value, from, sizeof(T));                                                           \
        if (steps[0] == 0 && steps[1] == sizeof(T))                                                \
            for (npy_intp i = 0; i < n; i++) memcpy(to + i * sizeof(T), &value, sizeof(T));        \
        else                                                                                       \
            for (npy_intp i = 0; i < n; i++)                                                       \
                memcpy(to + i * steps[1], from + i * steps[0], sizeof(T));                         \
    }

static void copy_elements(char **args, const npy_intp *dimensions, const npy_intp *steps,
                          void *data) {
    const npy_intp n = dimensions[0], size = *(const npy_intp *)data;
    const char *from = args[0];
    char *to = args[1];
    if (steps[0] == size && steps[1] == size) memcpy(to, from, (size_t)(n * size));
    else if (size == 4) COPY_EACH(npy_int32)
    else if (size == 8) COPY_EACH(npy_int64)
    else if (size == 2) COPY_EACH(npy_int16)
    else if (size == 1) COPY_EACH(npy_int8)
    else for (npy_intp i = 0; i < n; i++) memcpy(to + i * steps[1], from + i * steps[0],
                                                 (size_t)size);
}

static PyObject *copy(PyObject *module, PyObject *const *given, Py_ssize_t number) {
    PyArrayObject *arrays[2];
    (void)module;
    if (number != 2 || !PyArray_Check(given[0]) || !PyArray_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "expected two arrays");
        return NULL;
    }
    for (int k = 0; k < 2; k++) arrays[k] = (PyArrayObject *)given[k];
    PyArray_Descr *type = PyArray_DESCR(arrays[0]);
    if (PyArray_SIZE(arrays[1]) < LEAST || !PyArray_EquivTypes(type, PyArray_DESCR(arrays[1])) ||
        PyDataType_REFCHK(type) || PyArray_NDIM(arrays[0]) > DIMENSIONS ||
        PyArray_NDIM(arrays[1]) > DIMENSIONS)
        Py_RETURN_FALSE;
    npy_intp size = PyArray_ITEMSIZE(arrays[0]);
    const Loop loop = {copy_elements, &size, 1, 2, 0, NPY_MAX_INTP, NULL};
    return PyBool_FromLong(go_through(&loop, arrays));
}

static PyObject *allow(PyObject *module, PyObject *number) {
    const long count = PyLong_AsLong(number);
    (void)module;
    if (count == -1 && PyErr_Occurred()) return NULL;
    __atomic_store_n(&allowed, (int)(count < THREADS ? count : THREADS), __ATOMIC_RELAXED);
    refused = 0; /* to be tried again */
    for (const Shared *each = all_shared; each != NULL; each = each->next) point(each);
    Py_RETURN_NONE;
}

static void let_go(PyObject *capsule) {
    (void)capsule;
    __atomic_fetch_sub(&holds, 1, __ATOMIC_RELAXED);
}

static PyObject *hold(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    PyObject *held = PyCapsule_New(&holds, "hold", let_go);
    if (held != NULL) __atomic_fetch_add(&holds, 1, __ATOMIC_RELAXED);
    return held;
}

static PyObject *processor(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    return PyLong_FromLong(PROCESSOR());
}

static PyObject *leave(PyObject *module, PyObject *number) {
    const long given = PyLong_AsLong(number);
    (void)module;
    if (given == -1 && PyErr_Occurred()) return NULL;
    leave_processor((int)given);
    Py_RETURN_NONE;
}

static PyObject *count_helped(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    return PyLong_FromSsize_t(__atomic_load_n(&helped, __ATOMIC_RELAXED));
}

static PyMethodDef methods[] = {
    {"share", share, METH_VARARGS, "Let threads share the loops of a ufunc for types by letters."},
    {"allow", allow, METH_O, "Let a call have so many threads."},
    {"apply", (PyCFunction)(void (*)(void))apply, METH_FASTCALL,
     "Let threads share a ufunc over arrays that lie in any way; False if it can't be done so."},
    {"copy", (PyCFunction)(void (*)(void))copy, METH_FASTCALL,
     "Let threads write an array into another of its type; False if it can't be done so."},
    {"helped", count_helped, METH_NOARGS, "How often a thread other than the caller's did parts."},
    {"hold", hold, METH_NOARGS, "Let no call have threads as long as the answer lives."},
    {"processor", processor, METH_NOARGS, "The number of that which runs this; -1 if unknown."},
    {"leave", leave, METH_O, "Go to another processor, if this is the one of that number."},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit_sharing(void) {
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sharing", NULL, -1, methods,
                                            NULL, NULL, NULL, NULL};
    import_array();
    import_umath();
    if (pthread_atfork(NULL, NULL, forget_threads) != 0) return PyErr_NoMemory();
    return PyModule_Create(&definition);
}
