/* Numbers in another type, as C casts them, and how many there are of each. */
#define CAST(name, T, R)                                                                           \
    static void name(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) { \
        const npy_intp n = dimensions[0];                                                          \
        const int ordered = steps[0] == sizeof(T) && steps[1] == sizeof(R);                        \
        const T *from = (const T *)args[0];                                                        \
        R *to = (R *)args[1];                                                                      \
        IN_ANY_ORDER                                                                               \
        for (npy_intp i = 0; ordered && i < n; i++) to[i] = (R)from[i];                            \
        for (npy_intp i = 0; !ordered && i < n; i++) {                                             \
            ELEMENT(R, args[1], steps[1], i) = (R)ELEMENT(const T, args[0], steps[0], i);          \
        }                                                                                          \
    }

CAST(whole_f32, float, npy_int64)
CAST(whole_f64, double, npy_int64)
CAST(double_f32, float, double)
CAST(single_f64, double, float)

/* How often each number of a row occurs; four tables, so that equal ones don't wait in turn. */
static void counts(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) {
    const npy_intp count = dimensions[0], k = dimensions[1], n = dimensions[2];
    npy_int32 *tables = malloc((size_t)(4 * n + 1) * sizeof(npy_int32));
    if (tables == NULL) {
        no_memory();
        return;
    }
    for (npy_intp row = 0; row < count; row++) {
        npy_intp i = 0;
        memset(tables, 0, (size_t)(4 * n) * sizeof(npy_int32));
        for (; i + 4 <= k; i += 4) {
            for (int j = 0; j < 4; j++) {
                tables[j * n + ELEMENT(const npy_int64, ROW(0, row), steps[2], i + j)]++;
            }
        }
        for (; i < k; i++) tables[ELEMENT(const npy_int64, ROW(0, row), steps[2], i)]++;
        for (npy_intp j = 0; j < n; j++) {
            ELEMENT(npy_int64, ROW(1, row), steps[3], j) =
                (npy_int64)tables[j] + tables[n + j] + tables[2 * n + j] + tables[3 * n + j];
        }
    }
    free(tables);
}
