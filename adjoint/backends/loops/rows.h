/* How NumPy calls a function over rows: a ufunc whose operands have a core dimension.
 *
 * Sums are taken in halves within blocks, so that they are vector instructions, and exact.
 */
#define ROW_BLOCK 256

typedef struct {
    void (*function)(char **, npy_intp, char *);
    int operands;
    int all;           /* operands and results */
    int size;          /* of an element, in bytes */
    int kept;          /* rows of room that the function needs */
    const char *kinds; /* a row, c: one number for each row, n: one number for all */
} RowKernel;

typedef struct {
    const char *name;
    const RowKernel *kernels; /* for float, for double */
    int operands;
    int results;
    const char *signature;
    char types[2 * MOST];
} RowEntry;

#define IN_HALVES(T, S)                                                                            \
    static inline T total_##S(T *block, npy_intp n) {                                              \
        npy_intp width = 1;                                                                        \
        while (width < n) width *= 2;                                                              \
        for (npy_intp i = n; i < width; i++) block[i] = 0;                                         \
        while (width > 1) {                                                                        \
            width /= 2;                                                                            \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < width; i++) block[i] += block[i + width];                     \
        }                                                                                          \
        return block[0];                                                                           \
    }                                                                                              \
    static inline T greatest_##S(T *block, npy_intp n) {                                           \
        npy_intp width = 1;                                                                        \
        while (width < n) width *= 2;                                                              \
        for (npy_intp i = n; i < width; i++) block[i] = block[0];                                  \
        while (width > 1) {                                                                        \
            width /= 2;                                                                            \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < width; i++)                                                   \
                block[i] = v_maximum_##S(block[i], block[i + width]);                              \
        }                                                                                          \
        return block[0];                                                                           \
    }

IN_HALVES(float, f32)
IN_HALVES(double, f64)

static void run_rows(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const RowKernel *kernel = data;
    const npy_intp count = dimensions[0], n = dimensions[1], size = kernel->size;
    npy_intp inner[MOST];
    const npy_intp *next = steps + kernel->all;
    int rooms = kernel->kept;
    for (int k = 0; k < kernel->all; k++) {
        inner[k] = size;
        if (kernel->kinds[k] != 'n') {
            if (kernel->kinds[k] == 'a') inner[k] = *next;
            next++;
        }
        rooms += inner[k] != size;
    }
    char *room = rooms ? malloc((size_t)(rooms * n * size)) : NULL;
    if (rooms && room == NULL) {
        NPY_ALLOW_C_API_DEF
        NPY_ALLOW_C_API;
        PyErr_NoMemory();
        NPY_DISABLE_C_API;
        return;
    }
    for (npy_intp row = 0; row < count; row++) {
        char *places[MOST];
        char *free_room = room + kernel->kept * n * size;
        for (int k = 0; k < kernel->all; k++) {
            places[k] = args[k] + row * steps[k];
            if (inner[k] == size) continue;
            if (k < kernel->operands) gather(free_room, places[k], inner[k], n, kernel->size);
            places[k] = free_room;
            free_room += n * size;
        }
        kernel->function(places, n, room);
        for (int k = kernel->operands; k < kernel->all; k++) {
            if (inner[k] != size) {
                scatter(args[k] + row * steps[k], inner[k], places[k], n, kernel->size);
            }
        }
    }
    free(room);
    forget_exceptions();
}
