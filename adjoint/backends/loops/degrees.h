/* Polynomials by their degree: two are known, and each that follows comes from the two before.
 *
 * Elements go through the steps in blocks, in double, and each keeps the one of its own degree. The
 * operands are the place x, the degree n and, of some families, a number a.
 */
#define DEGREES(T, S, name, first, next)                                                           \
    WHOLE static void name##_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,   \
                                 void *data) {                                                     \
        T places[BLOCK], given[BLOCK];                                                             \
        double degrees[BLOCK], before[BLOCK], last[BLOCK], found[BLOCK];                           \
        const double a = data == NULL ? 0 : *(const double *)args[2];                              \
        const int result = data == NULL ? 2 : 3;                                                   \
        for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {                          \
            const npy_intp left = dimensions[0] - start, count = left < BLOCK ? left : BLOCK;      \
            gather((char *)places, args[0] + start * steps[0], steps[0], count, sizeof(T));        \
            gather((char *)given, args[1] + start * steps[1], steps[1], count, sizeof(T));         \
            int most = 0;                                                                          \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                const int degree = given[i] < MOST_DEGREE ? (int)given[i] : MOST_DEGREE;           \
                most = degree > most ? degree : most;                                              \
            }                                                                                      \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                const double x = (double)places[i], n = v_trunc_f64((double)given[i]);             \
                const double one = first, known = n == 1 ? one : n == 0 ? 1 : (double)NAN;         \
                degrees[i] = n;                                                                    \
                before[i] = 1;                                                                     \
                last[i] = one;                                                                     \
                found[i] = n < 0 ? 0 : known;                                                      \
            }                                                                                      \
            for (int step = 2; step <= most; step++) {                                             \
                const double k = step, share = 1 / k;                                              \
                IN_ANY_ORDER                                                                       \
                for (npy_intp i = 0; i < count; i++) {                                             \
                    const double x = (double)places[i], p = last[i], q = before[i], value = next;  \
                    before[i] = p;                                                                 \
                    last[i] = value;                                                               \
                    found[i] = degrees[i] == k ? value : found[i];                                 \
                }                                                                                  \
                (void)share;                                                                       \
            }                                                                                      \
            for (npy_intp i = 0; i < count; i++) places[i] = (T)found[i];                          \
            scatter(args[result] + start * steps[result], steps[result], (char *)places, count,    \
                    sizeof(T));                                                                    \
        }                                                                                          \
        (void)a;                                                                                   \
        forget_exceptions();                                                                       \
    }

#define MOST_DEGREE 64 /* higher ones are not asked for here */

#define ALL_DEGREES(T, S)                                                                          \
    DEGREES(T, S, chebyshev_t, x, 2 * x * p - q)                                                   \
    DEGREES(T, S, chebyshev_u, 2 * x, 2 * x * p - q)                                               \
    DEGREES(T, S, chebyshev_v, 2 * x - 1, 2 * x * p - q)                                           \
    DEGREES(T, S, chebyshev_w, 2 * x + 1, 2 * x * p - q)                                           \
    DEGREES(T, S, hermite_h, 2 * x, 2 * (x * p - (k - 1) * q))                                     \
    DEGREES(T, S, hermite_he, x, x * p - (k - 1) * q)                                              \
    DEGREES(T, S, legendre, x, ((2 * k - 1) * x * p - (k - 1) * q) * share)                        \
    DEGREES(T, S, gegenbauer, 2 * a * x, (2 * (k + a - 1) * x * p - (k + 2 * a - 2) * q) * share)  \
    DEGREES(T, S, laguerre, 1 + a - x, ((2 * k - 1 + a - x) * p - (k - 1 + a) * q) * share)

ALL_DEGREES(float, f32)
ALL_DEGREES(double, f64)
