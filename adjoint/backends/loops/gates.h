/* Rows times the sigmoids of others, and the gradients of that; logarithms of sums of powers. */
#define GATES(T, S)                                                                                \
    WHOLE static void gated_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,    \
                                void *data) {                                                      \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *x = (const T *)ROW(0, row), *gate = (const T *)ROW(1, row);                   \
            T *out = (T *)ROW(2, row);                                                             \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < n; i++) out[i] = x[i] * v_sigmoid_##S(gate[i]);               \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }                                                                                              \
    WHOLE static void gated_back_##S(char **args, const npy_intp *dimensions,                      \
                                     const npy_intp *steps, void *data) {                          \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *slope = (const T *)ROW(0, row), *x = (const T *)ROW(1, row);                  \
            const T *gate = (const T *)ROW(2, row);                                                \
            T *by_x = (T *)ROW(3, row), *by_gate = (T *)ROW(4, row);                               \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                const T open = v_sigmoid_##S(gate[i]), moved = slope[i] * open;                    \
                by_x[i] = moved;                                                                   \
                by_gate[i] = moved * x[i] * (1 - open);                                            \
            }                                                                                      \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }                                                                                              \
    WHOLE static void log_sums_##S(char **args, const npy_intp *dimensions, const npy_intp *steps, \
                                   void *data) {                                                   \
        const npy_intp count = dimensions[0], n = dimensions[1];                                   \
        for (npy_intp row = 0; row < count; row++) {                                               \
            const T *x = (const T *)ROW(0, row), peak = row_peak_##S(x, n);                        \
            const T base = v_isfinite_##S(peak) ? peak : 0;                                        \
            T total = 0, powers[BLOCK];                                                            \
            for (npy_intp start = 0; start < n; start += BLOCK) {                                  \
                const npy_intp some = n - start < BLOCK ? n - start : BLOCK;                       \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < some; i++) powers[i] = v_exp_##S(x[start + i] - base);    \
                total += row_sum_##S(powers, powers, powers, 0, some);                             \
            }                                                                                      \
            *(T *)ROW(1, row) = v_log_##S(total) + base;                                           \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

GATES(float, f32)
