/* How NumPy calls a function over rows: a ufunc whose operands have a core dimension.
 *
 * Sums are taken in lanes within blocks, so that they are vector instructions, and exact. A pass goes
 * strip by strip, the last of which ends with the row, though it may begin in the one before: what is
 * computed twice comes out the same, and takes less time than the rest of a row one by one.
 */
#define ROW_BLOCK 1024
#define STRIP 32

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

/* Elements are joined in lanes, these in halves by loops whose lengths the compiler knows. */
#define IN_HALVES(joined)                                                                          \
    for (int k = 0; k < 16; k++) lanes[k] = joined(lanes[k], lanes[k + 16]);                       \
    for (int k = 0; k < 8; k++) lanes[k] = joined(lanes[k], lanes[k + 8]);                         \
    for (int k = 0; k < 4; k++) lanes[k] = joined(lanes[k], lanes[k + 4]);                         \
    return joined(joined(lanes[0], lanes[2]), joined(lanes[1], lanes[3]));

#define SUM(x, y) ((x) + (y))
#define LARGER(x, y) ((x) > (y) ? (x) : (y)) /* one instruction, where a choice is guessed wrong */

#define FOLDED(T, S, I)                                                                            \
    APART static T total_##S(const T *block, npy_intp n) {                                         \
        T lanes[STRIP] = {0};                                                                      \
        npy_intp start = 0;                                                                        \
        for (; start + STRIP <= n; start += STRIP) {                                               \
            for (int k = 0; k < STRIP; k++) lanes[k] += block[start + k];                          \
        }                                                                                          \
        for (int k = 0; start + k < n; k++) lanes[k] += block[start + k];                          \
        IN_HALVES(SUM)                                                                             \
    }                                                                                              \
    static inline T total_of_row_##S(const T *row, npy_intp n) {                                   \
        T total = 0;                                                                               \
        for (npy_intp start = 0; start < n; start += ROW_BLOCK) {                                  \
            total += total_##S(row + start, n - start < ROW_BLOCK ? n - start : ROW_BLOCK);        \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
    APART static T greatest_##S(const T *row, npy_intp n) {                                        \
        T lanes[STRIP];                                                                            \
        for (int k = 0; k < STRIP; k++) lanes[k] = row[k < n ? k : 0];                             \
        I unknown[STRIP], any = 0; /* NaN, of which the greatest is none */                        \
        for (int k = 0; k < STRIP; k++) unknown[k] = lanes[k] != lanes[k];                         \
        for (npy_intp start = STRIP; start < n; start += STRIP) {                                  \
            const T *strip = row + (start + STRIP <= n ? start : n - STRIP);                       \
            for (int k = 0; k < STRIP; k++) unknown[k] |= strip[k] != strip[k];                    \
            for (int k = 0; k < STRIP; k++) lanes[k] = LARGER(strip[k], lanes[k]);                 \
        }                                                                                          \
        for (int k = 0; k < STRIP; k++) any |= unknown[k];                                         \
        if (any) return (T)NAN;                                                                    \
        IN_HALVES(LARGER)                                                                          \
    }

FOLDED(float, f32, npy_int32)
FOLDED(double, f64, npy_int64)

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
