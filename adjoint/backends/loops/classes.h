/* The cross entropy of rows with a class each, and its gradient times a number, in two passes. */
#define CLASS_LOSSES(T, S)                                                                         \
    static inline T row_peak_##S(const T *x, npy_intp n) {                                         \
        T lanes[LANES], peak = x[0];                                                               \
        npy_intp start = 0;                                                                        \
        for (int k = 0; k < LANES; k++) lanes[k] = peak;                                           \
        for (; start + LANES <= n; start += LANES) {                                               \
            for (int k = 0; k < LANES; k++) {                                                      \
                lanes[k] = x[start + k] > lanes[k] ? x[start + k] : lanes[k];                      \
            }                                                                                      \
        }                                                                                          \
        for (int k = 0; k < LANES; k++) peak = lanes[k] > peak ? lanes[k] : peak;                  \
        for (npy_intp i = start; i < n; i++) peak = x[i] > peak ? x[i] : peak;                     \
        return peak;                                                                               \
    }                                                                                              \
    WHOLE static void class_losses_##S(char **args, const npy_intp *dimensions,                    \
                                       const npy_intp *steps, void *data) {                        \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *x = (const T *)ROW(0, row), share = *(const T *)ROW(2, row);                  \
            const npy_int64 own = *(const npy_int64 *)ROW(1, row);                                 \
            T *slope = (T *)ROW(4, row);                                                           \
            const T peak = row_peak_##S(x, n);                                                     \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < n; i++) slope[i] = v_exp_##S(x[i] - peak);                    \
            const T total = row_sum_##S(slope, slope, slope, 0, n), scale = share / total;         \
            *(T *)ROW(3, row) = v_log_##S(total) - (x[own] - peak);                                \
            for (npy_intp i = 0; i < n; i++) slope[i] *= scale;                                    \
            slope[own] -= share;                                                                   \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

CLASS_LOSSES(float, f32)
CLASS_LOSSES(double, f64)
