/* The regularized incomplete gamma functions of floats, by double; NaN where they are not for.
 *
 * Below a + 1 by the series of the lower one, above by the continued fraction of the upper one, both
 * as quotients of two numbers: nothing is divided on the way, and for so few steps nothing overflows.
 */
#define GAMMA_STEPS 32
#define LEAST_A 0.001 /* below, the upper one is too little of 1 */
#define MOST_A 16
#define MOST_X 40

/* x^a e^-x / gamma(a + 1) for a from 0 to MOST_A: by steps of 1 up to where Stirling's series is exact. */
static inline double gamma_weight(double a, double x) {
    double y = a + 1, product = 1;
    for (int step = 0; step < 7; step++) {
        product = y < 8 ? product * y : product;
        y = y < 8 ? y + 1 : y;
    }
    const double inverse = 1 / y;
    double power = inverse * v_poly_lgamma_large_f64(inverse * inverse) + V_STIRLING_f64;
    power += (y - 0.5) * (v_log_f64(y) - 1);
    return product * v_exp_f64(a * v_log_f64(x) - x - power);
}

/* Both quotients of a block; upper, 0 or 1, says which function is wanted. It is written over x. */
WHOLE static void incomplete_gamma(const double *order, double *place, npy_intp count,
                                   double upper) {
    double top[BLOCK], low[BLOCK], more[BLOCK], last[BLOCK];
    for (npy_intp i = 0; i < count; i++) {
        const double rest = place[i] - order[i];
        top[i] = 1;
        low[i] = rest < 1 ? 1 : rest + 1;
        more[i] = rest < 1 ? 1 : 0;
        last[i] = rest < 1 ? 0 : 1;
    }
    for (double k = 1; k <= GAMMA_STEPS; k++) {
        IN_ANY_ORDER
        for (npy_intp i = 0; i < count; i++) {
            const double a = order[i], x = place[i], rest = x - a, before = top[i], below = low[i];
            const double factor = rest < 1 ? a + k : rest + (2 * k + 1);
            const double share = rest < 1 ? x : k * (a - k);
            const double power = share * more[i]; /* of the series: the next power of x */
            top[i] = factor * before + power;
            more[i] = rest < 1 ? power : before;
            low[i] = factor * below + share * last[i];
            last[i] = rest < 1 ? 0 : below;
        }
    }
    IN_ANY_ORDER
    for (npy_intp i = 0; i < count; i++) {
        const double a = order[i], x = place[i], rest = x - a;
        const double part = gamma_weight(a, x) * (rest < 1 ? 1 : a) * (top[i] / low[i]);
        const double base = rest < 1 ? upper : 1 - upper; /* the part itself, or what it leaves of 1 */
        double found = base + (1 - 2 * base) * part;
        found = a >= LEAST_A && a <= MOST_A ? found : (double)NAN;
        place[i] = x >= 0 && x <= MOST_X ? found : (double)NAN;
    }
}

static void incomplete_gamma_f32(char **args, const npy_intp *dimensions, const npy_intp *steps,
                                 void *data) {
    double order[BLOCK], place[BLOCK];
    for (npy_intp start = 0; start < dimensions[0]; start += BLOCK) {
        const npy_intp left = dimensions[0] - start, count = left < BLOCK ? left : BLOCK;
        for (npy_intp i = 0; i < count; i++) {
            order[i] = *(const float *)(args[0] + (start + i) * steps[0]);
            place[i] = *(const float *)(args[1] + (start + i) * steps[1]);
        }
        incomplete_gamma(order, place, count, data == NULL ? 0 : 1);
        for (npy_intp i = 0; i < count; i++) {
            *(float *)(args[2] + (start + i) * steps[2]) = (float)place[i];
        }
    }
    forget_exceptions();
}
