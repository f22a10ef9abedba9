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
    const long long end = nanoseconds() + PATIENCE;
    while (number < __atomic_load_n(&allowed, __ATOMIC_RELAXED) && nanoseconds() < end) {
        for (int i = 0; i < 64; i++) {
            if (is_called(number, seen)) return;
            PAUSE();
        }
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

static void run(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const Loop *loop = data;
    const npy_intp count = dimensions[0], each = core_size(loop, dimensions);
    const int large = count > 1 && each <= loop->most && count * each >= LEAST;
    if (!large || !are_apart(loop, args, count, steps) || !take_threads()) {
        loop->function(args, dimensions, steps, loop->data);
        return;
    }
    npy_intp length = (count + 2 * allowed - 1) / (2 * allowed);
    if (!loop->cores) length = (length + STEP - 1) / STEP * STEP;
    if (length * each < SHORTEST) length = (SHORTEST + each - 1) / each;
    work.loop = loop;
    work.args = args;
    work.dimensions = dimensions;
    work.steps = steps;
    work.count = count;
    work.length = length;
    share_parts();
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
