/* Equations with a lower triangular matrix, row after row; other triangles by turned strides.
 *
 * Solutions are computed in ordered memory, several right sides at a time.
 */
#define TRIANGLE(T, S)                                                                             \
    static inline void solve_lower_##S(const T *a, T *x, npy_intp n, npy_intp m, int unit) {       \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            T *own = x + i * m;                                                                    \
            npy_intp k = 0;                                                                        \
            for (; k + 4 <= i; k += 4) {                                                           \
                const T *l = a + i * n + k, l0 = l[0], l1 = l[1], l2 = l[2], l3 = l[3];            \
                const T *x0 = x + k * m, *x1 = x0 + m, *x2 = x1 + m, *x3 = x2 + m;                 \
                IN_ANY_ORDER                                                                       \
                for (npy_intp j = 0; j < m; j++) {                                                 \
                    own[j] -= (l0 * x0[j] + l1 * x1[j]) + (l2 * x2[j] + l3 * x3[j]);               \
                }                                                                                  \
            }                                                                                      \
            for (; k < i; k++) {                                                                   \
                const T l = a[i * n + k], *x0 = x + k * m;                                         \
                IN_ANY_ORDER                                                                       \
                for (npy_intp j = 0; j < m; j++) own[j] -= l * x0[j];                              \
            }                                                                                      \
            if (unit) continue;                                                                    \
            const T d = a[i * n + i];                                                              \
            for (npy_intp j = 0; j < m; j++) own[j] /= d;                                          \
        }                                                                                          \
    }                                                                                              \
    WHOLE static void triangle_##S(char **args, const npy_intp *dimensions, const npy_intp *steps, \
                                   void *data) {                                                   \
        const npy_intp count = dimensions[0], n = dimensions[1], m = dimensions[2];                \
        const npy_intp *core = steps + 3;                                                          \
        T *a = malloc((size_t)(n * n + n * m + 1) * sizeof(T));                                    \
        if (a == NULL) {                                                                           \
            no_memory();                                                                           \
            return;                                                                                \
        }                                                                                          \
        T *x = a + n * n;                                                                          \
        for (npy_intp turn = 0; turn < count; turn++) {                                            \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                const char *row = ROW(0, turn) + i * core[0], *side = ROW(1, turn) + i * core[2];  \
                for (npy_intp k = 0; k <= i; k++) a[i * n + k] = ELEMENT(const T, row, core[1], k);\
                for (npy_intp j = 0; j < m; j++) x[i * m + j] = ELEMENT(const T, side, core[3], j);\
            }                                                                                      \
            solve_lower_##S(a, x, n, m, data != NULL);                                             \
            for (npy_intp i = 0; i < n; i++) {                                                     \
                char *to = ROW(2, turn) + i * core[4];                                             \
                for (npy_intp j = 0; j < m; j++) ELEMENT(T, to, core[5], j) = x[i * m + j];        \
            }                                                                                      \
        }                                                                                          \
        free(a);                                                                                   \
        forget_exceptions();                                                                       \
    }

TRIANGLE(float, f32)
TRIANGLE(double, f64)
