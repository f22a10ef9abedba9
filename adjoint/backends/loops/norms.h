/* Mean 0 and variance 1 over rows, scaled and shifted, and the gradients of that.
 *
 * Sums go in as many lanes as a block has, so that they are vector instructions, and exact.
 */
#define LANES 32 /* which are folded by loops whose lengths the compiler knows */

/* Called by several: a copy in each would not be faster, but larger. */
#if defined(__GNUC__)
#define ONCE __attribute__((noinline))
#else
#define ONCE
#endif

#define LANES_FOLDED(lanes)                                                                        \
    for (int k = 0; k < 16; k++) lanes[k] += lanes[k + 16];                                        \
    for (int k = 0; k < 8; k++) lanes[k] += lanes[k + 8];                                          \
    for (int k = 0; k < 4; k++) lanes[k] += lanes[k + 4];

#define SUMMED(T, S, name, term)                                                                   \
    ONCE static T name##_##S(const T *x, const T *y, const T *z, T centre, npy_intp n) {           \
        T lanes[LANES] = {0}, total = 0;                                                           \
        npy_intp start = 0;                                                                        \
        for (; start + LANES <= n; start += LANES) {                                               \
            for (int k = 0; k < LANES; k++) {                                                      \
                const npy_intp i = start + k;                                                      \
                lanes[k] += term;                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (npy_intp i = start; i < n; i++) total += term;                                        \
        LANES_FOLDED(lanes)                                                                        \
        return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + total;                            \
    }

/* Two sums in one pass, of a term and of this times how far an element is from the middle. */
#define SUMMED_TWICE(T, S, name, term, rest)                                                       \
    ONCE static void name##_##S(const T *x, const T *y, const T *z, T centre, npy_intp n,          \
                                T *found) {                                                        \
        T lanes[LANES] = {0}, along[LANES] = {0}, total = 0, other = 0;                            \
        npy_intp start = 0;                                                                        \
        for (; start + LANES <= n; start += LANES) {                                               \
            for (int k = 0; k < LANES; k++) {                                                      \
                const npy_intp i = start + k;                                                      \
                lanes[k] += term;                                                                  \
                along[k] += (term) * (rest - centre);                                              \
            }                                                                                      \
        }                                                                                          \
        for (npy_intp i = start; i < n; i++) {                                                     \
            total += term;                                                                         \
            other += (term) * (rest - centre);                                                     \
        }                                                                                          \
        LANES_FOLDED(lanes)                                                                        \
        LANES_FOLDED(along)                                                                        \
        found[0] = ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + total;                        \
        found[1] = ((along[0] + along[2]) + (along[1] + along[3])) + other;                        \
    }

/* Rows that are gone through together: their sums don't wait for each other. */
#define TOGETHER 4
#define NARROW 1024 /* elements of such a row */

#define STANDARD_ROWS(T, S, root)                                                                  \
    SUMMED(T, S, row_sum, x[i])                                                                    \
    SUMMED(T, S, row_spread, (x[i] - centre) * (x[i] - centre))                                    \
    SUMMED_TWICE(T, S, row_totals, x[i] * y[i], z[i])                                              \
    static void standard_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,       \
                             void *data) {                                                         \
        const npy_intp count = dimensions[0], n = dimensions[1], most = n > NARROW ? 1 : TOGETHER; \
        for (npy_intp start = 0; start < count; start += most) {                                   \
            const npy_intp end = count - start < most ? count : start + most;                      \
            T means[TOGETHER];                                                                     \
            for (npy_intp row = start; row < end; row++) {                                         \
                const T *x = (const T *)ROW(0, row);                                               \
                means[row - start] = row_sum_##S(x, x, x, 0, n) / (T)n;                            \
            }                                                                                      \
            for (npy_intp row = start; row < end; row++) {                                         \
                const T *x = (const T *)ROW(0, row);                                               \
                *(T *)ROW(5, row) = means[row - start];                                            \
                *(T *)ROW(6, row) = row_spread_##S(x, x, x, means[row - start], n) / (T)n;         \
            }                                                                                      \
            for (npy_intp row = start; row < end; row++) {                                         \
                const T *x = (const T *)ROW(0, row), *weight = (const T *)ROW(1, row);             \
                const T *bias = (const T *)ROW(2, row), mean = means[row - start];                 \
                const T scale = 1 / root(*(const T *)ROW(6, row) + *(const T *)ROW(3, row));       \
                T *out = (T *)ROW(4, row);                                                         \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < n; i++) {                                                 \
                    out[i] = (x[i] - mean) * scale * weight[i] + bias[i];                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }                                                                                              \
    static void standard_back_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,  \
                                  void *data) {                                                    \
        const npy_intp count = dimensions[0], rows = dimensions[1], n = dimensions[2];             \
        const npy_intp *core = steps + 11, most = n > NARROW ? 1 : TOGETHER;                       \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            const T *weight = (const T *)ROW(2, turn), eps = *(const T *)ROW(7, turn);             \
            T *by_weight = (T *)ROW(9, turn), *by_bias = (T *)ROW(10, turn);                       \
            for (npy_intp i = 0; i < n; i++) by_weight[i] = by_bias[i] = 0;                        \
            T found[TOGETHER][2];                                                                  \
            for (npy_intp row = 0, two; row < rows; row += two) {                                  \
                for (npy_intp k = 0; row % most == 0 && k < most && row + k < rows; k++) {         \
                    const T *slope = (const T *)(ROW(0, turn) + (row + k) * core[0]);              \
                    const T *x = (const T *)(ROW(1, turn) + (row + k) * core[2]);                  \
                    const T mean = ELEMENT(const T, ROW(3, turn), core[5], row + k);               \
                    row_totals_##S(slope, weight, x, mean, n, found[k]);                           \
                }                                                                                  \
                T means[2], scales[2], tilts[2], shifts[2];                                        \
                two = most > 1 && row + 1 < rows ? 2 : 1; /* the sums are read and written once */ \
                for (npy_intp k = 0; k < two; k++) {                                               \
                    const npy_intp own = row + k;                                                  \
                    const T spread = ELEMENT(const T, ROW(4, turn), core[6], own);                 \
                    const T on_mean = ELEMENT(const T, ROW(5, turn), core[7], own);                \
                    const T on_spread = ELEMENT(const T, ROW(6, turn), core[8], own);              \
                    const T scale = 1 / root(spread + eps), *sums = found[own % most];             \
                    means[k] = ELEMENT(const T, ROW(3, turn), core[5], own);                       \
                    scales[k] = scale;                                                             \
                    tilts[k] = (sums[1] * scale * scale * scale - 2 * on_spread) / (T)n;           \
                    shifts[k] = (sums[0] * scale - on_mean) / (T)n;                                \
                }                                                                                  \
                const T *slope = (const T *)(ROW(0, turn) + row * core[0]);                        \
                const T *x = (const T *)(ROW(1, turn) + row * core[2]);                            \
                T *out = (T *)(ROW(8, turn) + row * core[9]);                                      \
                const T mean = means[0], scale = scales[0], tilt = tilts[0], shift = shifts[0];    \
                if (two == 1) {                                                                    \
                    IN_ANY_ORDER                                                                   \
                    for (npy_intp i = 0; i < n; i++) {                                             \
                        const T rest = x[i] - mean;                                                \
                        out[i] = slope[i] * weight[i] * scale - (rest * tilt + shift);             \
                        by_weight[i] += slope[i] * rest * scale;                                   \
                        by_bias[i] += slope[i];                                                    \
                    }                                                                              \
                    continue;                                                                      \
                }                                                                                  \
                const T *slope1 = (const T *)((const char *)slope + core[0]);                      \
                const T *x1 = (const T *)((const char *)x + core[2]);                              \
                T *out1 = (T *)((char *)out + core[9]);                                            \
                const T mean1 = means[1], scale1 = scales[1], tilt1 = tilts[1], shift1 = shifts[1];\
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < n; i++) {                                                 \
                    const T rest = x[i] - mean, rest1 = x1[i] - mean1;                             \
                    out[i] = slope[i] * weight[i] * scale - (rest * tilt + shift);                 \
                    out1[i] = slope1[i] * weight[i] * scale1 - (rest1 * tilt1 + shift1);           \
                    const T term = slope[i] * rest * scale, term1 = slope1[i] * rest1 * scale1;    \
                    by_weight[i] = by_weight[i] + term + term1;                                    \
                    by_bias[i] = by_bias[i] + slope[i] + slope1[i];                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* The same over rows of c parts of n elements, whose weight and bias are a number for each part.
 *
 * The elements of a part lie in order. Parts that do so as well are summed in one run.
 */
#define PART(T, place, row, step, part) ((T *)(ROW(place, row) + (part) * (step)))

#define STANDARD_PARTS(T, S, root)                                                                 \
    SUMMED_TWICE(T, S, row_apart, x[i], z[i])                                                      \
    static void standard_parts_##S(char **args, const npy_intp *dimensions,                        \
                                   const npy_intp *steps, void *data) {                            \
        const npy_intp count = dimensions[0], c = dimensions[1], n = dimensions[2];                \
        const npy_intp *core = steps + 7;                                                          \
        const int whole = core[0] == n * (npy_intp)sizeof(T);                                      \
        const npy_intp runs = whole ? 1 : c, length = whole ? c * n : n;                           \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T eps = *(const T *)ROW(3, row);                                                 \
            double total = 0, squares = 0;                                                         \
            for (npy_intp run = 0; run < runs; run++) {                                            \
                const T *x = PART(const T, 0, row, core[0], run);                                  \
                total += row_sum_##S(x, x, x, 0, length);                                          \
            }                                                                                      \
            const T mean = (T)(total / (double)(c * n));                                           \
            for (npy_intp run = 0; run < runs; run++) {                                            \
                const T *x = PART(const T, 0, row, core[0], run);                                  \
                squares += row_spread_##S(x, x, x, mean, length);                                  \
            }                                                                                      \
            const T spread = (T)(squares / (double)(c * n)), scale = 1 / root(spread + eps);       \
            for (npy_intp part = 0; part < c; part++) {                                            \
                const T *x = PART(const T, 0, row, core[0], part);                                 \
                T *out = PART(T, 4, row, core[4], part);                                           \
                const T weight = ELEMENT(const T, ROW(1, row), core[2], part);                     \
                const T bias = ELEMENT(const T, ROW(2, row), core[3], part);                       \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < n; i++) out[i] = (x[i] - mean) * scale * weight + bias;   \
            }                                                                                      \
            *(T *)ROW(5, row) = mean;                                                              \
            *(T *)ROW(6, row) = spread;                                                            \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }                                                                                              \
    static void standard_parts_back_##S(char **args, const npy_intp *dimensions,                   \
                                        const npy_intp *steps, void *data) {                       \
        const npy_intp count = dimensions[0], c = dimensions[1], n = dimensions[2];                \
        const npy_intp *core = steps + 11;                                                         \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T mean = *(const T *)ROW(3, row), eps = *(const T *)ROW(7, row);                 \
            const T scale = 1 / root(*(const T *)ROW(4, row) + eps);                               \
            double total = 0, along = 0;                                                           \
            for (npy_intp part = 0; part < c; part++) {                                            \
                const T *slope = PART(const T, 0, row, core[0], part);                             \
                const T *x = PART(const T, 1, row, core[2], part);                                 \
                const T weight = ELEMENT(const T, ROW(2, row), core[4], part);                     \
                T found[2];                                                                        \
                row_apart_##S(slope, x, x, mean, n, found);                                        \
                const T sum = found[0], apart = found[1];                                          \
                total += sum * weight;                                                             \
                along += apart * weight;                                                           \
                ELEMENT(T, ROW(9, row), core[7], part) = apart * scale;                            \
                ELEMENT(T, ROW(10, row), core[8], part) = sum;                                     \
            }                                                                                      \
            const T all = (T)(c * n), on_spread = *(const T *)ROW(6, row);                         \
            const T tilt = ((T)along * scale * scale * scale - 2 * on_spread) / all;               \
            const T shift = ((T)total * scale - *(const T *)ROW(5, row)) / all;                    \
            for (npy_intp part = 0; part < c; part++) {                                            \
                const T *slope = PART(const T, 0, row, core[0], part);                             \
                const T *x = PART(const T, 1, row, core[2], part);                                 \
                T *out = PART(T, 8, row, core[5], part);                                           \
                const T weight = ELEMENT(const T, ROW(2, row), core[4], part) * scale;             \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < n; i++) {                                                 \
                    out[i] = slope[i] * weight - ((x[i] - mean) * tilt + shift);                   \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* Products of a row with rows of a table by number; the elements of rows lie in order. */
#define MATCHED(T, S)                                                                              \
    static void matched_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,        \
                            void *data) {                                                          \
        const npy_intp count = dimensions[0], n = dimensions[2], k = dimensions[3];                \
        const npy_intp *core = steps + 4;                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            const T *y = (const T *)ROW(2, turn);                                                  \
            for (npy_intp i = 0; i < k; i++) {                                                     \
                const npy_int64 place = ELEMENT(const npy_int64, ROW(1, turn), core[2], i);        \
                const T *x = (const T *)(ROW(0, turn) + place * core[0]);                          \
                T lanes[8] = {0};                                                                  \
                npy_intp j = 0;                                                                    \
                for (; j + 8 <= n; j += 8) {                                                       \
                    for (int lane = 0; lane < 8; lane++) lanes[lane] += x[j + lane] * y[j + lane]; \
                }                                                                                  \
                for (int lane = 0; j < n; j++, lane++) lanes[lane] += x[j] * y[j];                 \
                for (int half = 4; half > 0; half /= 2) {                                          \
                    for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];     \
                }                                                                                  \
                ELEMENT(T, ROW(3, turn), core[4], i) = lanes[0];                                   \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* Sums of rows of a table by number, weighted; and rows added to those of a table, weighted. The
 * elements of rows lie in order, and results are zeros before. */
#define MIXED(T, S)                                                                                \
    static inline void add_row_##S(T *restrict to, const T *restrict from, T factor, npy_intp w) { \
        for (npy_intp j = 0; j < w; j++) to[j] += factor * from[j];                                \
    }                                                                                              \
    static void mixed_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,          \
                          void *data) {                                                            \
        const npy_intp count = dimensions[0], w = dimensions[2], k = dimensions[3];                \
        const npy_intp *core = steps + 4;                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            T *out = (T *)ROW(3, turn);                                                            \
            for (npy_intp j = 0; j < w; j++) out[j] = 0;                                           \
            for (npy_intp i = 0; i < k; i++) {                                                     \
                const npy_int64 place = ELEMENT(const npy_int64, ROW(1, turn), core[2], i);        \
                const T factor = ELEMENT(const T, ROW(2, turn), core[3], i);                       \
                add_row_##S(out, (const T *)(ROW(0, turn) + place * core[0]), factor, w);          \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }                                                                                              \
    static void dealt_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,          \
                          void *data) {                                                            \
        const npy_intp count = dimensions[0], c = dimensions[1], w = dimensions[2];                \
        const npy_intp k = dimensions[3], *core = steps + 4;                                       \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp row = 0; row < c; row++) {                                               \
                const T *from = (const T *)(ROW(0, turn) + row * core[0]);                         \
                const char *places = ROW(1, turn) + row * core[2];                                 \
                const char *factors = ROW(2, turn) + row * core[4];                                \
                for (npy_intp i = 0; i < k; i++) {                                                 \
                    const npy_int64 place = ELEMENT(const npy_int64, places, core[3], i);          \
                    const T factor = ELEMENT(const T, factors, core[5], i);                        \
                    add_row_##S((T *)(ROW(3, turn) + place * core[6]), from, factor, w);           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* Rows of a table by number, added to those of another by number, which are zeros before. */
#define REGROUPED(T, S)                                                                            \
    static void rows_regrouped_##S(char **args, const npy_intp *dimensions, const npy_intp *steps, \
                                   void *data) {                                                   \
        const npy_intp count = dimensions[0], w = dimensions[2], k = dimensions[3];                \
        const npy_intp *core = steps + 4;                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp i = 0; i < k; i++) {                                                     \
                const npy_int64 from = ELEMENT(const npy_int64, ROW(1, turn), core[2], i);         \
                const npy_int64 to = ELEMENT(const npy_int64, ROW(2, turn), core[3], i);           \
                add_row_##S((T *)(ROW(3, turn) + to * core[4]),                                    \
                            (const T *)(ROW(0, turn) + from * core[0]), 1, w);                     \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* The squared lengths of all differences of rows of two matrices; elements of rows lie in order. */
#define GAPS(T, S)                                                                                 \
    SUMMED(T, S, row_gap, (x[i] - y[i]) * (x[i] - y[i]))                                           \
    static void gaps_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,           \
                         void *data) {                                                             \
        const npy_intp count = dimensions[0], m = dimensions[1], n = dimensions[2];                \
        const npy_intp p = dimensions[3], *core = steps + 3;                                       \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp i = 0; i < m; i++) {                                                     \
                const T *x = (const T *)(ROW(0, turn) + i * core[0]);                              \
                for (npy_intp j = 0; j < p; j++) {                                                 \
                    const T *y = (const T *)(ROW(1, turn) + j * core[2]);                          \
                    ELEMENT(T, ROW(2, turn) + i * core[4], core[5], j) = row_gap_##S(x, y, y, 0, n);\
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

STANDARD_ROWS(float, f32, sqrtf)
STANDARD_ROWS(double, f64, sqrt)
STANDARD_PARTS(float, f32, sqrtf)
STANDARD_PARTS(double, f64, sqrt)
MATCHED(float, f32)
MATCHED(double, f64)
GAPS(float, f32)
GAPS(double, f64)
MIXED(float, f32)
MIXED(double, f64)
REGROUPED(float, f32)
REGROUPED(double, f64)
