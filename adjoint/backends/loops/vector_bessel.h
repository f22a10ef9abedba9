/* Modified Bessel functions in double: those that grow, and those that fade. */

/* I0 and I1 of |x| by polynomials in its square below 8, by what exp(|x|) / sqrt(|x|) leaves above. */
static inline double v_grown_part(double a) { return 16 / (a < 8 ? 8.0 : a) - 1; }

static inline double v_i0_scaled(double x) {
    double a = v_abs_f64(x), near = a < 8 ? a : 8;
    double small = v_poly_i0_f64(near * near) * v_exp_f64(-near);
    double large = v_poly_i0_large_f64(v_grown_part(a)) / v_root_f64(a);
    return a < 8 ? small : large;
}

static inline double v_i1_scaled(double x) {
    double a = v_abs_f64(x), near = a < 8 ? a : 8;
    double small = near * v_poly_i1_f64(near * near) * v_exp_f64(-near);
    double large = v_poly_i1_large_f64(v_grown_part(a)) / v_root_f64(a);
    return v_flipped_f64(a < 8 ? small : large, x);
}

/* exp(a) may overflow where the function does not: half of it twice. At infinity, as in PyTorch and
 * SciPy, that is no number. */
static inline double v_i0_whole(double x) {
    double a = v_abs_f64(x), near = a < 8 ? a : 8, half = v_exp_f64(0.5 * a);
    double large = v_poly_i0_large_f64(v_grown_part(a)) / v_root_f64(a) * half * half;
    return a < 8 ? v_poly_i0_f64(near * near) : large;
}

static inline double v_i1_whole(double x) {
    double a = v_abs_f64(x), near = a < 8 ? a : 8, half = v_exp_f64(0.5 * a);
    double large = v_poly_i1_large_f64(v_grown_part(a)) / v_root_f64(a) * half * half;
    return v_flipped_f64(a < 8 ? near * v_poly_i1_f64(near * near) : large, x);
}

/* The logarithm of half of x, which may be too small to be halved. */
static inline double v_log_of_half(double x) {
    double tiny = x < 0x1p-1000 ? 1.0 : 0.0;
    return v_log_f64(tiny > 0 ? x : 0.5 * x) - tiny * V_LN2_f64;
}

/* K0 and K1 up to 1: a logarithm times I, and the rest by a polynomial in the square. */
static inline double v_k0_near(double x) {
    double z = x * x;
    return v_fma_f64(-v_log_of_half(x), v_poly_i0_f64(z), v_poly_k0_f64(z));
}

static inline double v_k1_near(double x) {
    double z = x * x, rest = v_poly_k1_f64(z) / x;
    return v_fma_f64(v_log_of_half(x), x * v_poly_i1_f64(z), rest);
}

static inline double v_faded_part(double x) { return 2 / (x < 1 ? 1.0 : x) - 1; }

/* There is none below 0, and at 0 it is infinite. */
static inline double v_faded(double x, double found) {
    found = x == 0 ? (double)INFINITY : found;
    return x < 0 ? (double)NAN : found;
}

static inline double v_k0_scaled(double x) {
    double near = x < 1 ? x : 1;
    double small = v_k0_near(near) * v_exp_f64(near);
    double large = v_poly_k0_large_f64(v_faded_part(x)) / v_root_f64(x);
    return v_faded(x, x < 1 ? small : large);
}

static inline double v_k1_scaled(double x) {
    double near = x < 1 ? x : 1;
    double small = v_k1_near(near) * v_exp_f64(near);
    double large = v_poly_k1_large_f64(v_faded_part(x)) / v_root_f64(x);
    return v_faded(x, x < 1 ? small : large);
}

static inline double v_k0_whole(double x) {
    double near = x < 1 ? x : 1, half = v_exp_f64(-0.5 * x);
    double large = v_poly_k0_large_f64(v_faded_part(x)) / v_root_f64(x) * half * half;
    return v_faded(x, x < 1 ? v_k0_near(near) : large);
}

static inline double v_k1_whole(double x) {
    double near = x < 1 ? x : 1, half = v_exp_f64(-0.5 * x);
    double large = v_poly_k1_large_f64(v_faded_part(x)) / v_root_f64(x) * half * half;
    return v_faded(x, x < 1 ? v_k1_near(near) : large);
}
