/* Loops along the last dimension: what depends on the elements before, or on a place by number.
 *
 * The sums of a row wait for one another, those of different rows don't: so many go side by side.
 */
#define SIDE 8
#define MANY_AT_ONCE 16

#define ROW(k, row) (args[k] + (row) * steps[k])
#define ELEMENT(T, place, step, i) (*(T *)((place) + (i) * (step)))

/* All prefixes of some rows, their elements joined from the first on. */
#define RUNNING(T, S, name, joined)                                                                \
    static inline void name##_rows_##S(const char *from, char *to, const npy_intp *steps,          \
                                       npy_intp n, const int rows) {                               \
        T last[SIDE], next[SIDE];                                                                  \
        for (int r = 0; r < rows; r++) {                                                           \
            last[r] = ELEMENT(const T, from, steps[0], r);                                         \
            ELEMENT(T, to, steps[1], r) = last[r];                                                 \
        }                                                                                          \
        for (npy_intp i = 1; i < n; i++) {                                                         \
            const char *read = from + i * steps[2];                                                \
            char *written = to + i * steps[3];                                                     \
            for (int r = 0; r < rows; r++) next[r] = ELEMENT(const T, read, steps[0], r);          \
            for (int r = 0; r < rows; r++) last[r] = joined(last[r], next[r]);                     \
            for (int r = 0; r < rows; r++) ELEMENT(T, written, steps[1], r) = last[r];             \
        }                                                                                          \
    }                                                                                              \
    WHOLE static void name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,   \
                                 void *data) {                                                     \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        npy_intp row = 0;                                                                          \
        if (n == 0) return;                                                                        \
        for (; row + SIDE <= count; row += SIDE) {                                                 \
            name##_rows_##S(ROW(0, row), ROW(1, row), steps, n, SIDE);                             \
        }                                                                                          \
        for (; row < count; row++) name##_rows_##S(ROW(0, row), ROW(1, row), steps, n, 1);         \
        forget_exceptions();                                                                       \
    }

/* The best element so far and its place: the last of equals, and any NaN. In a row few elements are
 * better than all before, so that many are looked at together. */
#define BETTER(x, better, best) (((x) better(best)) | ((x) != (x)))
#define EXTREMES(T, S, name, better)                                                               \
    static inline void name##_rows_##S(char **places, const npy_intp *steps, npy_intp n) {         \
        T best[SIDE];                                                                              \
        npy_int64 at[SIDE];                                                                        \
        for (int r = 0; r < SIDE; r++) {                                                           \
            best[r] = ELEMENT(const T, places[0], steps[0], r);                                    \
            at[r] = 0;                                                                             \
        }                                                                                          \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            for (int r = 0; r < SIDE; r++) {                                                       \
                const T x = ELEMENT(const T, places[0] + i * steps[3], steps[0], r);               \
                const int wins = BETTER(x, better, best[r]);                                       \
                best[r] = wins ? x : best[r];                                                      \
                at[r] ^= (at[r] ^ i) & -(npy_int64)wins;                                           \
                ELEMENT(T, places[1] + i * steps[4], steps[1], r) = best[r];                       \
                ELEMENT(npy_int64, places[2] + i * steps[5], steps[2], r) = at[r];                 \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline void name##_one_##S(char **places, const npy_intp *steps, npy_intp i, T *best,   \
                                      npy_int64 *at) {                                             \
        const T x = ELEMENT(const T, places[0], steps[0], i);                                      \
        const int wins = BETTER(x, better, *best);                                                 \
        *best = wins ? x : *best;                                                                  \
        *at ^= (*at ^ i) & -(npy_int64)wins;                                                       \
        ELEMENT(T, places[1], steps[1], i) = *best;                                                \
        ELEMENT(npy_int64, places[2], steps[2], i) = *at;                                          \
    }                                                                                              \
    SELDOM static void name##_strides_##S(char **places, const npy_intp *steps, npy_intp n) {      \
        T best = *(const T *)places[0];                                                            \
        npy_int64 at = 0;                                                                          \
        for (npy_intp i = 0; i < n; i++) name##_one_##S(places, steps, i, &best, &at);             \
    }                                                                                              \
    static inline void name##_row_##S(char **places, npy_intp n) {                                 \
        const npy_intp steps[] = {sizeof(T), sizeof(T), 8};                                        \
        const T *x = (const T *)places[0];                                                         \
        T best = *x;                                                                               \
        npy_int64 at = 0;                                                                          \
        for (npy_intp i = 0; i < n;) {                                                             \
            const npy_intp end = n - i < MANY_AT_ONCE ? n : i + MANY_AT_ONCE;                      \
            int some = end < i + MANY_AT_ONCE;                                                     \
            for (int j = 0; end == i + MANY_AT_ONCE && j < MANY_AT_ONCE; j++) {                    \
                some |= BETTER(x[i + j], better, best);                                            \
            }                                                                                      \
            if (!some) {                                                                           \
                for (int j = 0; j < MANY_AT_ONCE; j++) {                                           \
                    ((T *)places[1])[i + j] = best;                                                \
                    ((npy_int64 *)places[2])[i + j] = at;                                          \
                }                                                                                  \
                i = end;                                                                           \
            }                                                                                      \
            for (; i < end; i++) name##_one_##S(places, steps, i, &best, &at);                     \
        }                                                                                          \
    }                                                                                              \
    static void name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        const int ordered = steps[3] == sizeof(T) && steps[4] == sizeof(T) && steps[5] == 8;       \
        npy_intp row = 0;                                                                          \
        if (n == 0) return;                                                                        \
        while (row < count) {                                                                      \
            char *places[] = {ROW(0, row), ROW(1, row), ROW(2, row)};                              \
            const int side = !ordered && row + SIDE <= count;                                      \
            if (side) name##_rows_##S(places, steps, n);                                           \
            else if (ordered) name##_row_##S(places, n);                                           \
            else name##_strides_##S(places, steps + 3, n);                                         \
            row += side ? SIDE : 1;                                                                \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* y[i] = x[i] + factor[i] * y[i - 1]. */
#define RECURRENCE(T, S)                                                                           \
    static inline void recurrence_rows_##S(char **places, const npy_intp *steps, npy_intp n,       \
                                           const int rows) {                                       \
        T last[SIDE];                                                                              \
        for (int r = 0; r < rows; r++) {                                                           \
            last[r] = ELEMENT(const T, places[0], steps[0], r);                                    \
            ELEMENT(T, places[2], steps[2], r) = last[r];                                          \
        }                                                                                          \
        for (npy_intp i = 1; i < n; i++) {                                                         \
            for (int r = 0; r < rows; r++) {                                                       \
                const T x = ELEMENT(const T, places[0] + i * steps[3], steps[0], r);               \
                const T factor = ELEMENT(const T, places[1] + i * steps[4], steps[1], r);          \
                last[r] = x + factor * last[r];                                                    \
                ELEMENT(T, places[2] + i * steps[5], steps[2], r) = last[r];                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void recurrence_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,     \
                               void *data) {                                                       \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        npy_intp row = 0;                                                                          \
        if (n == 0) return;                                                                        \
        while (row < count) {                                                                      \
            char *places[] = {ROW(0, row), ROW(1, row), ROW(2, row)};                              \
            const int all = row + SIDE <= count;                                                   \
            if (all) recurrence_rows_##S(places, steps, n, SIDE);                                  \
            else recurrence_rows_##S(places, steps, n, 1);                                         \
            row += all ? SIDE : 1;                                                                 \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* Rows from their ends. */
#define TURNED(T, S)                                                                               \
    static void turned_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        const int ordered = steps[2] == sizeof(T) && steps[3] == sizeof(T);                        \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *from = (const T *)ROW(0, row) + n - 1;                                        \
            T *to = (T *)ROW(1, row);                                                              \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; ordered && i < n; i++) to[i] = from[-i];                          \
            for (npy_intp i = 0; !ordered && i < n; i++) {                                         \
                ELEMENT(T, ROW(1, row), steps[3], i) =                                             \
                    ELEMENT(const T, ROW(0, row), steps[2], n - 1 - i);                            \
            }                                                                                      \
        }                                                                                          \
    }

/* The elements of rows at places by number, all of which there are. */
#define PICKED(T, S)                                                                               \
    static void picked_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], k = dimensions[2];                                   \
        const int across = steps[2] < steps[5]; /* in the order of the results */                  \
        const npy_intp outer = across ? k : count, inner = across ? count : k;                     \
        const npy_intp *far = across ? steps + 3 : steps, *near = across ? steps : steps + 3;      \
        for (npy_intp i = 0; i < outer; i++) {                                                     \
            const char *from = args[0] + (across ? 0 : i * steps[0]);                              \
            const char *index = args[1] + i * far[1];                                              \
            char *to = args[2] + i * far[2];                                                       \
            for (npy_intp j = 0; j < inner; j++) {                                                 \
                const npy_int64 place = ELEMENT(const npy_int64, index, near[1], j);               \
                const char *row = from + (across ? j * steps[0] : 0);                              \
                ELEMENT(T, to, near[2], j) = ELEMENT(const T, row, steps[3], place);               \
            }                                                                                      \
        }                                                                                          \
    }

/* Values taken into rows at places by number; what is in the rows before stays part of it. */
#define PLACED(T, S, name, joined)                                                                 \
    static void name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], k = dimensions[1];                                   \
        const int across = steps[2] < steps[5];                                                    \
        const npy_intp *far = across ? steps + 3 : steps, *near = across ? steps : steps + 3;      \
        const npy_intp turns = across ? k : count, each = across ? count : k;                      \
        for (npy_intp i = 0; i < turns; i++) {                                                     \
            const char *index = args[0] + i * far[0], *values = args[1] + i * far[1];              \
            for (npy_intp j = 0; j < each; j++) {                                                  \
                const npy_int64 place = ELEMENT(const npy_int64, index, near[0], j);               \
                char *row = args[2] + (across ? j : i) * steps[2];                                 \
                T *sum = &ELEMENT(T, row, steps[5], place);                                        \
                *sum = joined(*sum, ELEMENT(const T, values, near[1], j));                         \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* Rows taken into those of a matrix, by number; what is there before stays part of it. */
#define ROWS_TAKEN(T, S, name, joined)                                                             \
    static void rows_##name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,  \
                                  void *data) {                                                    \
        const npy_intp count = dimensions[0], k = dimensions[1], w = dimensions[2];                \
        const npy_intp *core = steps + 3;                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp i = 0; i < k; i++) {                                                     \
                const npy_int64 place = ELEMENT(const npy_int64, ROW(0, turn), core[0], i);        \
                const char *row = ROW(1, turn) + i * core[1];                                      \
                char *sum = ROW(2, turn) + place * core[3];                                        \
                if (core[2] == sizeof(T) && core[4] == sizeof(T)) {                                \
                    const T *terms = (const T *)row;                                               \
                    T *sums = (T *)sum;                                                            \
                    IN_ANY_ORDER                                                                   \
                    for (npy_intp j = 0; j < w; j++) sums[j] = joined(sums[j], terms[j]);          \
                } else {                                                                           \
                    for (npy_intp j = 0; j < w; j++) {                                             \
                        T *own = &ELEMENT(T, sum, core[4], j);                                     \
                        *own = joined(*own, ELEMENT(const T, row, core[2], j));                    \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

#define PRODUCT(x, y) ((x) * (y))
#define LATER(x, y) (y)
#define ALONG(T, S)                                                                                \
    RUNNING(T, S, running_sum, SUM)                                                                \
    RUNNING(T, S, running_product, PRODUCT)                                                        \
    RUNNING(T, S, running_logaddexp, v_logaddexp_##S)                                              \
    EXTREMES(T, S, running_greatest, >=)                                                           \
    EXTREMES(T, S, running_least, <=)                                                              \
    RECURRENCE(T, S)                                                                               \
    TURNED(T, S)                                                                                   \
    PICKED(T, S)                                                                                   \
    PLACED(T, S, placed_add, SUM)                                                                  \
    PLACED(T, S, placed_multiply, PRODUCT)                                                         \
    PLACED(T, S, placed_maximum, v_maximum_##S)                                                    \
    PLACED(T, S, placed_minimum, v_minimum_##S)                                                    \
    PLACED(T, S, placed_last, LATER)                                                               \
    ROWS_TAKEN(T, S, add, SUM)                                                                     \
    ROWS_TAKEN(T, S, multiply, PRODUCT)                                                            \
    ROWS_TAKEN(T, S, maximum, v_maximum_##S)                                                       \
    ROWS_TAKEN(T, S, minimum, v_minimum_##S)

ALONG(float, f32)
ALONG(double, f64)

/* The first of each run of equals, and how many there are; what follows them is of no meaning. */
static void runs(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const npy_intp count = dimensions[0], n = dimensions[1], row_step = steps[0], next = steps[3];
    for (npy_intp row = 0; n > 0 && row < count; row++) {
        const char *from = args[0] + row * row_step;
        npy_int64 *out = (npy_int64 *)ROW(1, row), *first = out, last = *(const npy_int64 *)from;
        for (npy_intp i = 1; i < n; i++) { /* written in any case: a choice would be guessed wrong */
            const npy_int64 x = ELEMENT(const npy_int64, from, next, i);
            *out = last;
            out += x != last;
            last = x;
        }
        *out = last;
        *(npy_int64 *)ROW(2, row) = out - first + 1;
    }
}
