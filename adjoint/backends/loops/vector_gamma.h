/* The logarithm of gamma and its derivatives, in double. */

/* The sine and cosine of pi * |x|, and the sign of what they are of after whole turns. */
typedef struct {
    double sine, cosine, part;
} v_half_turn;

static inline v_half_turn v_half_turn_of(double x) {
    double part = x - v_rint_f64(x), a = v_abs_f64(part), near = a > 0.25 ? 0.5 - a : a;
    double pi = 2 * V_HALF_PI_f64, r = near * pi;
    double low = v_fma_f64(near, 2 * V_HALF_PI_LOW_f64, v_product_low_f64(near, pi, r));
    double sine = v_sine_f64(r, low), cosine = v_cosine_f64(r, low);
    v_half_turn turn;
    turn.sine = a > 0.25 ? cosine : sine;
    turn.cosine = a > 0.25 ? sine : cosine;
    turn.part = part;
    return turn;
}

static inline double v_log_gamma(double x) {
    double y = x < 0.25 ? 1 - x : x;
    /* By a polynomial from 1.25 to 2.5, by steps of 1 from there to 0.25 and 8, then by a series. */
    double f = y < 1.25 ? y - 1 : y - 2, product = y < 1.25 ? y : 1;
    for (int step = 0; step < 6; step++) {
        product = f >= 0.5 ? product * (f + 1) : product;
        f = f >= 0.5 ? f - 1 : f;
    }
    double log = v_log_f64(y < 8 ? product : y), inverse = 1 / y;
    double small = v_fma_f64(f, v_poly_lgamma_f64(f), y < 1.25 ? -log : log);
    double large = inverse * v_poly_lgamma_large_f64(inverse * inverse) + V_STIRLING_f64;
    large = v_fma_f64(y - 0.5, log - 1, large);
    double result = y < 8 ? small : large;
    double sine = v_half_turn_of(x).sine;
    double reflected = -v_log_f64(sine / (2 * V_HALF_PI_f64)) - result;
    result = x < 0.25 ? (sine == 0 ? (double)INFINITY : reflected) : result;
    return v_abs_f64(x) == (double)INFINITY ? (double)INFINITY : result;
}

static inline double v_log_gamma_derivative(double x) {
    double y = x <= 0 ? 1 - x : x;
    /* By a polynomial from 1 to 2, by steps of 1 from there to 0 and 8, then by a series. */
    double w = y < 1 ? y + 1 : y, top = y < 1 ? -1 : 0, below = y < 1 ? y : 1;
    for (int step = 0; step < 6; step++) {
        double next = w - 1;
        top = w >= 2 ? v_fma_f64(top, next, below) : top;
        below = w >= 2 ? below * next : below;
        w = w >= 2 ? next : w;
    }
    double from_root = (w - V_DIGAMMA_ROOT_f64) - V_DIGAMMA_ROOT_LOW_f64;
    double small = v_fma_f64(from_root, v_poly_digamma_f64(w - 1.5), top / below);
    double inverse = 1 / y, z = inverse * inverse;
    double large = v_log_f64(y) - v_fma_f64(z, v_poly_digamma_large_f64(z), 0.5 * inverse);
    double result = y < 8 ? small : large;
    v_half_turn turn = v_half_turn_of(x);
    double cotangent = v_flipped_f64(turn.cosine / turn.sine, turn.part);
    double reflected = v_fma_f64(-2 * V_HALF_PI_f64, cotangent, result);
    reflected = turn.part == 0 ? (double)NAN : reflected;
    result = x < 0 ? reflected : result;
    return x == 0 ? v_copysign_f64((double)INFINITY, -x) : result;
}

static inline double v_log_gamma_curvature(double x) {
    double y = x <= 0 ? 1 - x : x, sum = 0;
    for (int step = 0; step < 8; step++) {
        sum = y < 8 ? sum + 1 / (y * y) : sum;
        y = y < 8 ? y + 1 : y;
    }
    double inverse = 1 / y, z = inverse * inverse;
    double result = v_fma_f64(inverse * z, v_poly_trigamma_large_f64(z), 0.5 * z) + inverse + sum;
    double share = 2 * V_HALF_PI_f64 / v_half_turn_of(x).sine;
    double reflected = v_fma_f64(share, share, -result);
    reflected = x == -(double)INFINITY ? -x : reflected;
    return x <= 0 ? reflected : result;
}
