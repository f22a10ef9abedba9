/* All pairs of rows: their distances from products of them, and each pair once. */

/* Distances from products and squared lengths, and which are too near for that to be exact: below
 * a hundredth of both lengths, or unknown. */
#define SPACED(T, S, root)                                                                         \
    static void spaced_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *products = (const T *)ROW(0, row), own = *(const T *)ROW(1, row);             \
            const T *lengths = (const T *)ROW(2, row);                                             \
            T *out = (T *)ROW(3, row);                                                             \
            npy_bool *near = (npy_bool *)ROW(4, row);                                              \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                const T both = own + lengths[i], square = both - 2 * products[i];                  \
                near[i] = !(square >= both * (T)0.01);                                             \
                out[i] = root(square);                                                             \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

SPACED(float, f32, sqrtf)

/* What lies above the diagonals of square matrices, row after row; and such matrices, with the same
 * below and zeros between. Elements lie in order, whatever they are. */
#define PAIRS(T, S)                                                                                \
    static void above_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,          \
                          void *data) {                                                            \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            T *out = (T *)ROW(1, turn);                                                            \
            for (npy_intp i = 0; i + 1 < n; out += n - 1 - i, i++) {                               \
                const T *from = (const T *)(ROW(0, turn) + i * steps[2]) + i + 1;                  \
                memcpy(out, from, (size_t)(n - 1 - i) * sizeof(T));                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void mirrored_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,       \
                             void *data) {                                                         \
        const npy_intp count = dimensions[0], n = dimensions[2];                                   \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            const T *pairs = (const T *)ROW(0, turn);                                              \
            T *out = (T *)ROW(1, turn);                                                            \
            for (npy_intp top = 0; top < n; top += SQUARE) { /* few columns stay in the cache */   \
                const npy_intp end = n - top < SQUARE ? n : top + SQUARE;                          \
                for (npy_intp i = top; i < end; i++) {                                             \
                    const T *own = pairs + i * (2 * n - i - 1) / 2 - i - 1;                        \
                    out[i * n + i] = 0;                                                            \
                    for (npy_intp j = i + 1; j < n; j++) out[i * n + j] = own[j];                  \
                }                                                                                  \
                for (npy_intp j = top + 1; j < n; j++) {                                           \
                    for (npy_intp i = top; i < end && i < j; i++) out[j * n + i] = out[i * n + j]; \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

PAIRS(npy_int32, i32)
PAIRS(npy_int64, i64)
