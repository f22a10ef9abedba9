/* Matrices with their dimensions exchanged, whatever their elements are: bits, of 4 or 8 bytes.
 *
 * It goes square by square: long rows would push each other out of the cache, those whose length is
 * a power of two most of all.
 */
#define SQUARE 16

#if defined(__AVX2__)
#include <immintrin.h>
typedef __m256 Lanes; /* of eight floats */
#define EIGHT 8
#define LOAD_EIGHT(place) _mm256_loadu_ps((const float *)(place))
#define STORE_EIGHT(place, lanes) _mm256_storeu_ps((float *)(place), lanes)

/* Eight rows of eight floats become columns. */
static inline __attribute__((always_inline)) void turn_square(Lanes *r) {
    Lanes s[EIGHT];
    for (int i = 0; i < EIGHT; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < EIGHT; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        s[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        s[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    memcpy(r, s, sizeof(s));
}

/* Squares of 4 bytes whose rows lie in order, or from their ends, by vectors: all
 * but what is left of rows and columns. */
static void squares_across(const char *from, npy_intp down, npy_intp right, char *to, npy_intp line,
                           npy_intp m, npy_intp n) {
    for (npy_intp wide = 0; wide < n; wide += SQUARE) { /* a line of the cache, of many rows */
        for (npy_intp top = 0; top + EIGHT <= m; top += EIGHT) {
            for (npy_intp left = wide; left < wide + SQUARE && left + EIGHT <= n; left += EIGHT) {
                const npy_intp edge = right > 0 ? left : left + EIGHT - 1;
                const char *first = from + top * down + edge * right;
                Lanes square[EIGHT];
                for (int i = 0; i < EIGHT; i++) square[i] = LOAD_EIGHT(first + i * down);
                turn_square(square);
                for (int i = 0; i < EIGHT; i++) {
                    const npy_intp row = left + (right > 0 ? i : EIGHT - 1 - i);
                    STORE_EIGHT(to + row * line + top * 4, square[i]);
                }
            }
        }
    }
}
#endif

#if defined(__AVX2__)
#define SQUARES_ACROSS squares_across
#define BY_SQUARES(T, size)                                                                        \
    (sizeof(T) == 4 && (right == 4 || right == -4) && next == 4 ? (size) / EIGHT * EIGHT : 0)
#else
#define SQUARES_ACROSS(...)
#define BY_SQUARES(T, size) 0
#endif

#define ACROSS(T, S)                                                                               \
    static void across_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], m = dimensions[1], n = dimensions[2];                \
        const npy_intp down = steps[2], right = steps[3], line = steps[4], next = steps[5];        \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            const npy_intp done_rows = BY_SQUARES(T, m), done_columns = BY_SQUARES(T, n);          \
            if (done_rows && done_columns) {                                                       \
                SQUARES_ACROSS(ROW(0, turn), down, right, ROW(1, turn), line, m, n);               \
            }                                                                                      \
            for (npy_intp top = 0; top < m; top += SQUARE) {                                       \
                const npy_intp rows = m - top < SQUARE ? m - top : SQUARE;                         \
                const npy_intp whole = top + rows <= done_rows ? done_columns : 0;                 \
                for (npy_intp left = whole; left < n; left += SQUARE) {                            \
                    const char *from = ROW(0, turn) + top * down + left * right;                   \
                    char *to = ROW(1, turn) + left * line + top * next;                            \
                    const npy_intp columns = n - left < SQUARE ? n - left : SQUARE;                \
                    const npy_intp copied = down == next && next == sizeof(T) ? rows / 8 * 8 : 0;  \
                    for (npy_intp j = 0; j < columns; j++) {                                       \
                        for (npy_intp i = 0; i < copied; i += 8) { /* those lie in order in both */ \
                            memcpy(to + j * line + i * next, from + j * right + i * down,          \
                                   8 * sizeof(T));                                                 \
                        }                                                                          \
                        for (npy_intp i = copied; i < rows; i++) {                                 \
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
