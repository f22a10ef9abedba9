/* Sums of powers: zeta(s, q) = 1 / q^s + 1 / (q + 1)^s + ... for a whole s above 1 and q above 0.
 *
 * After some terms the rest is an integral, half a term, and derivatives by Bernoulli's numbers.
 */
#define TERMS 10

static const double bernoulli_shares[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                          -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0};

/* 1 / q^s of a block, and 1 / q. */
static inline void powers_of(const double *q, int s, double *inverse, double *power, npy_intp n) {
    IN_ANY_ORDER
    for (npy_intp i = 0; i < n; i++) power[i] = inverse[i] = 1 / q[i];
    for (int k = 1; k < s; k++) {
        IN_ANY_ORDER
        for (npy_intp i = 0; i < n; i++) power[i] *= inverse[i];
    }
}

#define POWER_SUM(T, S)                                                                            \
    WHOLE static void zeta_##S(char **args, const npy_intp *dimensions, const npy_intp *steps,     \
                               void *data) {                                                       \
        T given[BLOCK];                                                                            \
        double q[BLOCK], inverse[BLOCK], power[BLOCK], total[BLOCK];                               \
        const double s = (double)*(const T *)args[0];                                              \
        for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {                          \
            const npy_intp left = dimensions[0] - start, count = left < BLOCK ? left : BLOCK;      \
            gather((char *)given, args[1] + start * steps[1], steps[1], count, sizeof(T));         \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                q[i] = (double)given[i];                                                           \
                total[i] = 0;                                                                      \
            }                                                                                      \
            for (int term = 0; term < TERMS; term++) {                                             \
                powers_of(q, (int)s, inverse, power, count);                                       \
                for (npy_intp i = 0; i < count; i++) {                                             \
                    total[i] += power[i];                                                          \
                    q[i] += 1;                                                                     \
                }                                                                                  \
            }                                                                                      \
            powers_of(q, (int)s, inverse, power, count);                                           \
            IN_ANY_ORDER                                                                           \
            for (npy_intp i = 0; i < count; i++) {                                                 \
                double factor = s * power[i] * inverse[i], sum = power[i] * (q[i] / (s - 1) + 0.5);\
                for (int k = 0; k < 6; k++) {                                                      \
                    sum += factor * bernoulli_shares[k];                                           \
                    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) * inverse[i] * inverse[i];         \
                }                                                                                  \
                given[i] = (T)(total[i] + sum);                                                    \
            }                                                                                      \
            scatter(args[2] + start * steps[2], steps[2], (char *)given, count, sizeof(T));        \
        }                                                                                          \
        forget_exceptions();                                                                       \
    }

POWER_SUM(float, f32)
POWER_SUM(double, f64)
