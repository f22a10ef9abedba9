/* Rows of whole numbers of 64 bits, each moved by its number of places; moved by all of them,
 * nothing but the sign is left.
 */
#define SHIFT(name, moved)                                                                         \
    static void name(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) { \
        const npy_intp count = dimensions[0], n = dimensions[1], *core = steps + 3;                \
        const int ordered = core[0] == 8 && core[1] == 8;                                          \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const npy_int64 given = *(const npy_int64 *)ROW(1, row);                               \
            const int all = (npy_uint64)given > 63;                                                \
            const int places = all ? 63 : (int)given;                                              \
            const npy_int64 *from = (const npy_int64 *)ROW(0, row);                                \
            npy_int64 *to = (npy_int64 *)ROW(2, row);                                              \
            for (npy_intp i = 0; ordered && i < n; i++) to[i] = moved(from[i]);                    \
            for (npy_intp i = 0; !ordered && i < n; i++) {                                         \
                const npy_int64 x = ELEMENT(const npy_int64, ROW(0, row), core[0], i);             \
                ELEMENT(npy_int64, ROW(2, row), core[1], i) = moved(x);                            \
            }                                                                                      \
        }                                                                                          \
    }

#define MOVED_UP(x) (all ? 0 : (npy_int64)((npy_uint64)(x) << places))
#define MOVED_DOWN(x) ((x) >> places)

SHIFT(shifted_up, MOVED_UP)
SHIFT(shifted_down, MOVED_DOWN)
