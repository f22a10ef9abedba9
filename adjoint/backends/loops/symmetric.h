/* L D L^T of symmetric matrices by the pivots of Bunch and Kaufman, as LAPACK chooses them.
 *
 * Columns of the lower triangle lie in order while they are worked on, so that each is a vector.
 */
#define GROWTH 0.6403882032022076 /* of its column, which a pivot must reach: (1 + sqrt(17)) / 8 */

#define SYMMETRIC(T, S)                                                                            \
    static inline npy_intp largest_##S(const T *x, npy_intp step, npy_intp from, npy_intp to) {    \
        npy_intp place = from; /* the first of the largest, from one place to before another */    \
        for (npy_intp i = from + 1; i < to; i++) {                                                 \
            if (v_absolute_##S(x[i * step]) > v_absolute_##S(x[place * step])) place = i;          \
        }                                                                                          \
        return place;                                                                              \
    }                                                                                              \
    static inline void exchange_##S(T *x, T *y) {                                                  \
        const T kept = *x;                                                                         \
        *x = *y;                                                                                   \
        *y = kept;                                                                                 \
    }                                                                                              \
    /* The row that is exchanged at column k, and whether the block has two columns. */            \
    SELDOM static npy_intp pivot_##S(const T *a, npy_intp n, npy_intp k, int *two) {               \
        const T growth = (T)GROWTH, own = v_absolute_##S(a[k * n + k]);                            \
        const npy_intp other = k + 1 < n ? largest_##S(a + k * n, 1, k + 1, n) : k;                \
        const T most = other > k ? v_absolute_##S(a[k * n + other]) : 0;                           \
        if (own >= growth * most) return k;                                                        \
        T widest = v_absolute_##S(a[largest_##S(a + other, n, k, other) * n + other]);             \
        if (other + 1 < n) {                                                                       \
            const npy_intp below = largest_##S(a + other * n, 1, other + 1, n);                    \
            const T size = v_absolute_##S(a[other * n + below]);                                   \
            widest = size > widest ? size : widest;                                                \
        }                                                                                          \
        if (own >= growth * most * (most / widest)) return k;                                      \
        *two = !(v_absolute_##S(a[other * n + other]) >= growth * widest);                         \
        return other;                                                                              \
    }                                                                                              \
    SELDOM static void swap_##S(T *a, npy_intp n, npy_intp k, npy_intp from, npy_intp to) {        \
        if (from == to) return;                                                                    \
        for (npy_intp i = to + 1; i < n; i++) exchange_##S(a + from * n + i, a + to * n + i);      \
        for (npy_intp i = from + 1; i < to; i++) exchange_##S(a + from * n + i, a + i * n + to);   \
        exchange_##S(a + from * n + from, a + to * n + to);                                        \
        if (from > k) exchange_##S(a + k * n + from, a + k * n + to);                              \
    }                                                                                              \
    /* Takes the columns of a block, one or two, out of those that follow. */                      \
    static inline void reduce_##S(T *a, npy_intp n, npy_intp k, int two) {                         \
        T *x = a + k * n, *y = x + n;                                                              \
        const T d21 = two ? x[k + 1] : 1, d11 = two ? y[k + 1] / d21 : 0, d22 = x[k] / d21;        \
        const T scale = two ? 1 / (d11 * d22 - 1) / d21 : 1 / x[k];                                \
        for (npy_intp j = k + 1 + two; j < n; j++) {                                               \
            T *own = a + j * n;                                                                    \
            const T first = two ? scale * (d11 * x[j] - y[j]) : scale * x[j];                      \
            const T second = two ? scale * (d22 * y[j] - x[j]) : 0;                                \
            if (two) {                                                                             \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = j; i < n; i++) own[i] = own[i] - x[i] * first - y[i] * second;   \
                y[j] = second;                                                                     \
            } else {                                                                               \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = j; i < n; i++) own[i] -= x[i] * first;                           \
            }                                                                                      \
            x[j] = first;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static npy_int32 factor_##S(T *a, npy_intp n, char *pivots, npy_intp next) {                   \
        npy_int32 zero = 0;                                                                        \
        for (npy_intp k = 0; k < n;) {                                                             \
            const T own = a[k * n + k];                                                            \
            int two = 0, nothing = own != own || own == 0;                                         \
            for (npy_intp i = k + 1; own == 0 && i < n; i++) nothing &= a[k * n + i] == 0;         \
            const npy_intp chosen = nothing ? k : pivot_##S(a, n, k, &two);                        \
            if (nothing && zero == 0) zero = (npy_int32)(k + 1);                                   \
            if (!nothing) {                                                                        \
                swap_##S(a, n, k, k + two, chosen);                                                \
                reduce_##S(a, n, k, two);                                                          \
            }                                                                                      \
            const npy_int32 row = (npy_int32)(two ? -chosen - 1 : chosen + 1);                     \
            for (int i = 0; i <= two; i++) {                                                       \
                ELEMENT(npy_int32, pivots, next, k + i) = row;                                     \
            }                                                                                      \
            k += 1 + two;                                                                          \
        }                                                                                          \
        return zero;                                                                               \
    }                                                                                              \
    static void symmetric_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,      \
                              void *data) {                                                        \
        const npy_intp count = dimensions[0], n = dimensions[1], *core = steps + 4;                \
        T *a = malloc((size_t)(n * n + 1) * sizeof(T));                                            \
        if (a == NULL) {                                                                           \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                const char *row = ROW(0, turn) + i * core[0];                                      \
                for (npy_intp j = 0; j <= i; j++) a[j * n + i] = ELEMENT(const T, row, core[1], j);\
            }                                                                                      \
            *(npy_int32 *)ROW(3, turn) = factor_##S(a, n, ROW(2, turn), core[4]);                  \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                char *row = ROW(1, turn) + i * core[2];                                            \
                for (npy_intp j = 0; j < n; j++) {                                                 \
                    ELEMENT(T, row, core[3], j) = j <= i ? a[j * n + i] : 0;                       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        free(a);                                                                                   \
        forget_exceptions();                                                                       \
    }

SYMMETRIC(float, f32)
