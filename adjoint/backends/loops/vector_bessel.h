/* Modified Bessel functions of the first kind, in double: small ones by squares, large ones scaled. */

/* What is left of a large one without exp(a) / sqrt(a); a is at least 8. */
static inline double v_bessel_place(double a) { return 16 / (a > 8 ? a : 8) - 1; }

static inline double v_bessel_i0_of(double x, int scaled) {
    double a = v_abs_f64(x), small = a > 8 ? 8 : a, power = v_exp_f64(-small);
    double inner = v_poly_bessel_i0_f64(small * small);
    double outer = v_poly_bessel_i0_large_f64(v_bessel_place(a)) / sqrt(a);
    /* A part of the power is constant, so that no product overflows before its time. */
    double large = v_exp_f64(a - 16) * (outer * V_POWER_16_f64);
    double plain = a <= 8 ? inner : a == (double)INFINITY ? a : large;
    return scaled ? (a <= 8 ? inner * power : outer) : plain;
}

static inline double v_bessel_i1_of(double x, int scaled) {
    double a = v_abs_f64(x), small = a > 8 ? 8 : a, power = v_exp_f64(-small);
    double inner = small * v_poly_bessel_i1_f64(small * small);
    double outer = v_poly_bessel_i1_large_f64(v_bessel_place(a)) / sqrt(a);
    double large = v_exp_f64(a - 16) * (outer * V_POWER_16_f64);
    double plain = a <= 8 ? inner : a == (double)INFINITY ? a : large;
    return v_copysign_f64(scaled ? (a <= 8 ? inner * power : outer) : plain, x);
}
