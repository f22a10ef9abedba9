/* What a power is without its sign, and for arguments that are no edges. */

/* The logarithm of a positive number, to eleven digits more than a double has. */
static inline v_pair_f64 v_exact_log(double x) {
    v_parts_f64 parts = v_split_f64(x);
    double f = parts.fraction, k = parts.exponent;
    double d = 2 + f, d_low = f - (d - 2);
    double s = f / d, p = s * d, p_low = v_product_low_f64(s, d, p);
    double s_low = (((f - p) - p_low) - s * d_low) / d;
    double z = s * s, z_low = v_fma_f64(2 * s, s_low, v_product_low_f64(s, s, z));
    double cube = s * z;
    double cube_low = v_fma_f64(s, z_low, v_fma_f64(s_low, z, v_product_low_f64(s, z, cube)));
    double third = cube * V_TWO_THIRDS_f64;
    double third_low = v_product_low_f64(cube, V_TWO_THIRDS_f64, third);
    third_low += v_fma_f64(cube, V_TWO_THIRDS_LOW_f64, cube_low * V_TWO_THIRDS_f64);
    double whole = k * V_LN2_HIGH_f64, first = whole + 2 * s;
    double first_low = v_lost_f64(whole, 2 * s, first);
    double second = first + third, second_low = v_lost_f64(first, third, second);
    double low = v_fma_f64(cube * z, v_poly_log_ratio_f64(z), third_low);
    low += v_fma_f64(k, V_LN2_LOW_f64, 2 * s_low) + (first_low + second_low);
    v_pair_f64 log;
    log.high = second + low;
    log.low = (second - log.high) + low;
    return log;
}

static inline double v_magnitude_f64(double a, double y) {
    v_pair_f64 log = v_exact_log(a);
    double high = a == 0 ? -(double)INFINITY : a < (double)INFINITY ? log.high : a;
    double power = y * high;
    double low = v_fma_f64(y, log.low, v_product_low_f64(y, high, power));
    low = v_abs_f64(power) < 1024 ? low : 0; /* beyond that it is 0 or infinite */
    return v_exp_f64(power) * (1 + low);
}

static inline float v_magnitude_f32(float a, float y) {
    return (float)v_exp_f64((double)y * v_log_f64(a));
}
