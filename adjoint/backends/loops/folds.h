/* Rows, and columns, joined to one number each: sums, products, and what bits differ in.
 *
 * Lanes are joined on their own within blocks, then with one another: how, depends on the length
 * of a row alone, and errors grow with the number of blocks.
 */
#define FOLD_LANES 32
#define FOLD_BLOCK 1024

#define FOLDED_ROWS(T, S, name, joined)                                                            \
    static T name##_block_##S(const T *x, npy_intp n) {                                            \
        T lanes[FOLD_LANES];                                                                       \
        npy_intp i = FOLD_LANES;                                                                   \
        memcpy(lanes, x, sizeof(lanes));                                                           \
        for (; i + FOLD_LANES <= n; i += FOLD_LANES) {                                             \
            for (int k = 0; k < FOLD_LANES; k++) lanes[k] = joined(lanes[k], x[i + k]);            \
        }                                                                                          \
        for (int k = 0; i + k < n; k++) lanes[k] = joined(lanes[k], x[i + k]);                     \
        for (int half = FOLD_LANES / 2; half; half /= 2) {                                         \
            for (int k = 0; k < half; k++) lanes[k] = joined(lanes[k], lanes[k + half]);           \
        }                                                                                          \
        return lanes[0];                                                                           \
    }                                                                                              \
    static T name##_row_##S(const char *from, npy_intp step, npy_intp n) {                         \
        T room[FOLD_BLOCK + FOLD_LANES], all = *(const T *)from;                                   \
        for (npy_intp i = 1; n < FOLD_LANES && i < n; i++) {                                       \
            all = joined(all, ELEMENT(const T, from, step, i));                                    \
        }                                                                                          \
        for (npy_intp i = 0; n >= FOLD_LANES && i < n;) { /* the last block may have a few more */ \
            const npy_intp left = n - i < FOLD_BLOCK + FOLD_LANES ? n - i : FOLD_BLOCK;            \
            const T *block = (const T *)(from + i * step);                                         \
            for (npy_intp k = 0; step != sizeof(T) && k < left; k++) {                             \
                room[k] = ELEMENT(const T, from, step, i + k);                                     \
            }                                                                                      \
            const T joint = name##_block_##S(step == sizeof(T) ? block : room, left);              \
            all = i ? joined(all, joint) : joint;                                                  \
            i += left;                                                                             \
        }                                                                                          \
        return all;                                                                                \
    }                                                                                              \
    static void name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,         \
                           void *data) {                                                           \
        const npy_intp count = dimensions[0], n = dimensions[1], step = steps[2];                  \
        for (npy_intp row = 0; n > 0 && row < count; row++) {                                      \
            *(T *)ROW(1, row) = name##_row_##S(ROW(0, row), step, n);                              \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* The sums of columns, four rows at a time. */
#define COLUMN_SUMS(T, S)                                                                          \
    static inline void column_part_##S(const char *from, npy_intp down, const npy_intp right,      \
                                       char *to, const npy_intp next, npy_intp m, npy_intp n) {    \
        IN_ANY_ORDER                                                                               \
        for (npy_intp j = 0; j < n; j++) {                                                         \
            ELEMENT(T, to, next, j) = ELEMENT(const T, from, right, j);                            \
        }                                                                                          \
        npy_intp i = 1;                                                                            \
        for (; i + 4 <= m; i += 4) {                                                               \
            const char *rows = from + i * down;                                                    \
            IN_ANY_ORDER                                                                           \
            for (npy_intp j = 0; j < n; j++) {                                                     \
                const char *at = rows + j * right;                                                 \
                ELEMENT(T, to, next, j) +=                                                         \
                    (ELEMENT(const T, at, down, 0) + ELEMENT(const T, at, down, 1)) +              \
                    (ELEMENT(const T, at, down, 2) + ELEMENT(const T, at, down, 3));               \
            }                                                                                      \
        }                                                                                          \
        for (; i < m; i++) {                                                                       \
            const char *row = from + i * down;                                                     \
            IN_ANY_ORDER                                                                           \
            for (npy_intp j = 0; j < n; j++) {                                                     \
                ELEMENT(T, to, next, j) += ELEMENT(const T, row, right, j);                        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void column_sums_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,    \
                                void *data) {                                                      \
        const npy_intp count = dimensions[0], m = dimensions[1], n = dimensions[2];                \
        const npy_intp down = steps[2], right = steps[3], next = steps[4], own = sizeof(T);        \
        for (npy_intp turn = 0; m > 0 && turn < count; turn++) {                                   \
            const char *from = ROW(0, turn);                                                       \
            char *to = ROW(1, turn);                                                               \
            if (right == own && next == own) column_part_##S(from, down, own, to, own, m, n);      \
            else column_part_##S(from, down, right, to, next, m, n);                               \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

/* The bits of floats as doubles, joined as those of whole numbers are. */
static void row_differences_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                                void *data) {
    const npy_intp count = dimensions[0], n = dimensions[1], step = steps[2];
    for (npy_intp row = 0; row < count; row++) {
        npy_int64 lanes[FOLD_LANES] = {0}, all = 0;
        const char *from = ROW(0, row);
        for (npy_intp i = 0; i < n; i += FOLD_LANES) {
            const npy_intp left = n - i < FOLD_LANES ? n - i : FOLD_LANES;
            float some[FOLD_LANES] = {0}; /* which have no bits */
            double wide[FOLD_LANES];
            npy_int64 bits[FOLD_LANES];
            if (step == sizeof(float) && left == FOLD_LANES) {
                memcpy(some, from + i * step, sizeof(some));
            } else {
                for (int k = 0; k < left; k++) some[k] = ELEMENT(const float, from, step, i + k);
            }
            for (int k = 0; k < FOLD_LANES; k++) wide[k] = some[k];
            memcpy(bits, wide, sizeof(bits));
            for (int k = 0; k < FOLD_LANES; k++) lanes[k] ^= bits[k];
        }
        for (int k = 0; k < FOLD_LANES; k++) all ^= lanes[k];
        *(npy_int64 *)ROW(1, row) = all;
    }
    forget_exceptions();
}

#define DIFFERENCE(x, y) ((x) ^ (y))
FOLDED_ROWS(float, f32, row_sums, SUM)
FOLDED_ROWS(double, f64, row_sums, SUM)
FOLDED_ROWS(float, f32, row_products, PRODUCT)
FOLDED_ROWS(npy_int64, i64, row_differences, DIFFERENCE)
COLUMN_SUMS(float, f32)
