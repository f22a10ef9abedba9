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

/* A block is folded in halves, each by a loop whose length the compiler knows. */
#define FOLD(joined, half)                                                                         \
    for (int k = 0; k < half; k++) block[k] = joined(block[k], block[k + half]);

#define FOLDED(T, S, name, filler, joined)                                                         \
    static inline T name##_##S(T *block, npy_intp n) {                                             \
        npy_intp width = 16;                                                                       \
        while (width < n) width *= 2;                                                              \
        for (npy_intp i = n; i < width; i++) block[i] = filler;                                    \
        if (width > 128) FOLD(joined, 128)                                                         \
        if (width > 64) FOLD(joined, 64)                                                           \
        if (width > 32) FOLD(joined, 32)                                                           \
        if (width > 16) FOLD(joined, 16)                                                           \
        FOLD(joined, 8)                                                                            \
        FOLD(joined, 4)                                                                            \
        return joined(joined(block[0], block[2]), joined(block[1], block[3]));                     \
    }

#define SUM(x, y) ((x) + (y))
FOLDED(float, f32, total, 0, SUM)
FOLDED(double, f64, total, 0, SUM)
FOLDED(float, f32, greatest, block[0], v_maximum_f32)
FOLDED(double, f64, greatest, block[0], v_maximum_f64)

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
        no_memory();
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
