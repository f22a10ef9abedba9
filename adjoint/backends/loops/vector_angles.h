/* An angle of any size as quarters of a turn and a remainder of at most an eighth.
 *
 * The quotient by a quarter matters modulo four only, so bits of 2/pi that can but add whole turns are
 * left out, more of them the larger the angle; the products with the others are kept to all digits. */

typedef struct {
    double quarters; /* from -2 to 2 */
    double high, low;
} v_angle_f64;

typedef struct {
    float quarters;
    float high, low;
} v_angle_f32;

static inline v_angle_f32 v_angle_of_f32(float x) {
    double a = v_abs_f32(x);
    double high = a < V_ANGLE_1 ? V_QUARTERS_0 : a < V_ANGLE_2 ? V_QUARTERS_1
                : a < V_ANGLE_3 ? V_QUARTERS_2 : V_QUARTERS_3;
    double low = a < V_ANGLE_1 ? V_QUARTERS_LOW_0 : a < V_ANGLE_2 ? V_QUARTERS_LOW_1
               : a < V_ANGLE_3 ? V_QUARTERS_LOW_2 : V_QUARTERS_LOW_3;
    double product = a * high, rest = v_product_low_f64(a, high, product);
    double whole = v_rint_f64(product);
    double part = v_fma_f64(a, low, (product - whole) + rest);
    double more = v_rint_f64(part); /* what the product lost may be a third of a quarter */
    part -= more;
    whole += more;
    v_angle_f32 angle;
    angle.quarters = (float)v_fma_f64(-4, v_rint_f64(0.25 * whole), whole);
    angle.high = (float)(part * V_HALF_PI_f64);
    angle.low = 0;
    return angle;
}

/* The sine of so many halves of a turn more than x: floats need no cosine beside it. */
static inline float v_sine_of_f32(float x, double more) {
    double a = v_abs_f32(x);
    double high = a < V_LARGE_ANGLE_1 ? V_HALVES_0 : a < V_LARGE_ANGLE_2 ? V_HALVES_1
                : a < V_LARGE_ANGLE_3 ? V_HALVES_2 : V_HALVES_3;
    double low = a < V_LARGE_ANGLE_1 ? V_HALVES_LOW_0 : a < V_LARGE_ANGLE_2 ? V_HALVES_LOW_1
               : a < V_LARGE_ANGLE_3 ? V_HALVES_LOW_2 : V_HALVES_LOW_3;
    double product = a * high, rest = v_product_low_f64(a, high, product);
    double rounded = (product + more) + V_ROUNDER_f64, whole = rounded - V_ROUNDER_f64;
    double part = v_fma_f64(a, low, (product - (whole - more)) + rest);
    double sine = part * v_poly_sin_of_halves_f64(part * part);
    return (float)v_real_f64(v_bits_f64(sine) ^ (v_bits_f64(rounded) << 63));
}

static inline double v_modulo_four(double x) { return v_fma_f64(-4, v_rint_f64(0.25 * x), x); }

static inline v_angle_f64 v_angle_of_f64(double x) {
    double a = v_abs_f64(x);
    /* Sixteen exponents share a row of the table; the angle is scaled to the first sixteen. */
    uint64_t sixteens = ((v_bits_f64(a + 1) + ((uint64_t)1 << 52)) >> 56) - 64, row = 4 * sixteens;
    double scaled = a * v_real_f64((1023 - 16 * sixteens) << 52);
    double c0 = v_quarters[row], c1 = v_quarters[row + 1];
    double c2 = v_quarters[row + 2], c3 = v_quarters[row + 3];
    double p0 = scaled * c0, e0 = v_product_low_f64(scaled, c0, p0);
    double p1 = scaled * c1, e1 = v_product_low_f64(scaled, c1, p1);
    double p2 = scaled * c2, e2 = v_product_low_f64(scaled, c2, p2);
    double first = v_modulo_four(p0) + v_modulo_four(e0), second = v_modulo_four(p1);
    double sum = first + second, sum_low = v_lost_f64(first, second, sum);
    double whole = v_rint_f64(sum), part = sum - whole;
    double more = part + p2, more_low = v_lost_f64(part, p2, more);
    double high = more + e1, high_low = v_lost_f64(more, e1, high);
    double low = sum_low + more_low + high_low + v_fma_f64(scaled, c3, e2);
    double quotient = high + low, quotient_low = (high - quotient) + low;
    double r = quotient * V_HALF_PI_f64 + (a - a); /* infinity has no angle */
    double r_low = v_product_low_f64(quotient, V_HALF_PI_f64, r);
    r_low += v_fma_f64(quotient, V_HALF_PI_LOW_f64, quotient_low * V_HALF_PI_f64);
    /* By products: a compiler that made the choice early would read the table for some only. */
    double reduced = a < 0.75 ? 0 : 1;
    v_angle_f64 angle;
    angle.quarters = reduced * v_modulo_four(whole);
    angle.high = v_fma_f64(reduced, r, (1 - reduced) * a);
    angle.low = reduced * r_low;
    return angle;
}

static inline double v_sine_of_f64(double x, double more) {
    v_angle_f64 angle = v_angle_of_f64(x);
    double k = angle.quarters + 2 * more; /* from -2 to 3 */
    double sine = v_sine_f64(angle.high, angle.low), cosine = v_cosine_f64(angle.high, angle.low);
    double odd = k == 1 ? cosine : -cosine, even = k == 0 ? sine : -sine;
    return (k == 1) | (k == -1) | (k == 3) ? odd : even;
}
