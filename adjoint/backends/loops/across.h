/* Matrices with their dimensions exchanged, whatever their elements are: bits, of 4 or 8 bytes.
 *
 * It goes square by square: long rows would push each other out of the cache, those whose length is
 * a power of two most of all.
 */
#define SQUARE 16

#define ACROSS(T, S)                                                                               \
    static void across_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], m = dimensions[1], n = dimensions[2];                \
        const npy_intp down = steps[2], right = steps[3], line = steps[4], next = steps[5];        \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp top = 0; top < m; top += SQUARE) {                                       \
                const npy_intp rows = m - top < SQUARE ? m - top : SQUARE;                         \
                for (npy_intp left = 0; left < n; left += SQUARE) {                                \
                    const char *from = ROW(0, turn) + top * down + left * right;                   \
                    char *to = ROW(1, turn) + left * line + top * next;                            \
                    const npy_intp columns = n - left < SQUARE ? n - left : SQUARE;                \
                    for (npy_intp j = 0; j < columns; j++) {                                       \
                        for (npy_intp i = 0; i < rows; i++) {                                      \
                            ELEMENT(T, to + j * line, next, i) =                                   \
                                ELEMENT(const T, from + j * right, down, i);                       \
                        }                                                                          \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

ACROSS(npy_int32, i32)
ACROSS(npy_int64, i64)
