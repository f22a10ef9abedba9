/* The functions of vector_math.h, for one type: REAL, its BITS, and names F(...) and constants K(...)
 * with the type's suffix. A choice is written a ? b : c with both sides computed. */

#define R(number) ((REAL)(number))

/* ---- bits ---- */

static inline BITS F(bits)(REAL x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline REAL F(real)(BITS bits) {
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define SIGN ((BITS)1 << (8 * sizeof(BITS) - 1))
#define MANTISSA (((BITS)1 << DIGITS) - 1)

static inline REAL F(abs)(REAL x) { return F(real)(F(bits)(x) & ~SIGN); }

static inline REAL F(copysign)(REAL x, REAL sign) {
    return F(real)((F(bits)(x) & ~SIGN) | (F(bits)(sign) & SIGN));
}

/* What a sum lost in rounding, whichever of its parts is larger. */
static inline REAL F(lost)(REAL a, REAL b, REAL sum) {
    REAL part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* ---- powers of two ---- */

/* Adding it rounds to a whole number, which is then found in the lowest bits. */
#define ROUNDER R(3 * ((int64_t)1 << (DIGITS - 1)))

/* x times two to the power k, in two steps so that small results are rounded but once. */
static inline REAL F(scaled)(REAL x, REAL k_and_rounder) {
    BITS power = F(bits)(k_and_rounder) - F(bits)(ROUNDER) + 2 * BIAS;
    BITS half = power >> 1;
    return x * F(real)(half << DIGITS) * F(real)((power - half) << DIGITS);
}

/* Two to the power k, of those whose result is an ordinary number. */
static inline REAL F(power_of_two)(REAL k_and_rounder) {
    return F(real)((F(bits)(k_and_rounder) - F(bits)(ROUNDER) + BIAS) << DIGITS);
}

static inline REAL F(bounded)(REAL x, REAL low, REAL high) {
    x = x > high ? high : x; /* NaN stays */
    return x < low ? low : x;
}

/* ---- exponentials ---- */

static inline REAL F(exp)(REAL x) {
    REAL within = F(bounded)(x, K(EXP_LOW), K(EXP_HIGH));
    REAL rounded = F(fma)(within, K(LOG2_E), ROUNDER), k = rounded - ROUNDER;
    REAL r = F(fma)(k, -K(LN2_LOW), F(fma)(k, -K(LN2_HIGH), within));
    return F(scaled)(1 + F(fma)(r * r, F(poly_exp)(r), r), rounded);
}

static inline REAL F(exp2)(REAL x) {
    REAL within = F(bounded)(x, K(EXP2_LOW), K(EXP2_HIGH));
    REAL rounded = within + ROUNDER, r = within - (rounded - ROUNDER);
    return F(scaled)(1 + r * F(poly_exp2)(r), rounded);
}

/* Half of exp(x) - 1 as a sum of two; x from where that is -1/2 to where it overflows. */
typedef struct {
    REAL high, low;
} F(pair);

static inline F(pair) F(half_expm1)(REAL x) {
    REAL rounded = F(fma)(x, K(LOG2_E), ROUNDER), k = rounded - ROUNDER;
    REAL near = F(fma)(k, -K(LN2_HIGH), x);
    REAL r = F(fma)(k, -K(LN2_LOW), near), r_low = F(fma)(k, -K(LN2_LOW), near - r);
    REAL half_power = F(power_of_two)(rounded - 1);
    REAL tail = F(fma)(r * r, F(poly_exp)(r), r_low);
    REAL whole = half_power - R(0.5), part = half_power * r;
    F(pair) result;
    result.high = whole + part;
    result.low = F(fma)(half_power, tail, F(lost)(whole, part, result.high));
    return result;
}

static inline REAL F(expm1)(REAL x) {
    F(pair) half = F(half_expm1)(F(bounded)(x, K(EXPM1_LOW), K(EXP_HIGH)));
    return F(copysign)(2 * (half.high + half.low), x);
}

static inline REAL F(tanh)(REAL x) {
    REAL within = F(abs)(x) > K(TANH_HIGH) ? K(TANH_HIGH) : F(abs)(x);
    F(pair) half = F(half_expm1)(2 * within);
    REAL top = half.high + half.low, top_low = (half.high - top) + half.low;
    REAL below = 1 + top, below_low = F(lost)(1, top, below) + top_low;
    REAL ratio = top / below;
    return F(copysign)(ratio + (top_low - ratio * below_low) / below, x);
}

static inline REAL F(sigmoid)(REAL x) {
    REAL power = F(exp)(-F(abs)(x)), below = 1 + power, below_low = power - (below - 1);
    REAL ratio = (x < 0 ? power : 1) / below;
    REAL inverse = F(fma)(R(-0.5), below, R(1.457)); /* to a twentieth, enough for what was lost */
    return F(fma)(-ratio, below_low * inverse, ratio);
}

/* ---- logarithms ---- */

/* x as 2**exponent * (1 + fraction), the fraction between those of the roots of 1/2 and 2. */
typedef struct {
    REAL exponent, fraction;
} F(parts);

static inline F(parts) F(split)(REAL x) {
    REAL whole = R((int64_t)1 << DIGITS);
    REAL ordinary = x < K(SMALLEST_NORMAL) ? x * (2 * whole) : x;
    REAL excess = x < K(SMALLEST_NORMAL) ? whole + (BIAS + DIGITS + 1) : whole + BIAS;
    BITS root = F(bits)(K(ROOT_HALF));
    BITS bits = F(bits)(ordinary) - root + ((BITS)BIAS << DIGITS);
    F(parts) result;
    result.exponent = F(real)(F(bits)(whole) | (bits >> DIGITS)) - excess;
    result.fraction = F(real)((bits & MANTISSA) + root) - 1;
    return result;
}

/* The logarithm where x is 0, negative, infinite or NaN, and as computed elsewhere. */
static inline REAL F(log_edges)(REAL x, REAL computed) {
    computed = x < R(INFINITY) ? computed : x;
    computed = x == 0 ? -R(INFINITY) : computed;
    return x < 0 ? R(NAN) : computed;
}

static inline REAL F(log)(REAL x) {
    F(parts) parts = F(split)(x);
    REAL f = parts.fraction, k = parts.exponent;
    REAL first = k * K(LN2_HIGH), high = first + f, low = f - (high - first);
    low += F(fma)(f * f, F(poly_log)(f), k * K(LN2_LOW));
    return F(log_edges)(x, high + low);
}

static inline REAL F(log1p)(REAL x) {
    REAL u = 1 + x, lost = F(lost)(1, x, u);
    F(parts) parts = F(split)(u);
    REAL f = parts.fraction, k = parts.exponent;
    REAL first = k * K(LN2_HIGH), high = first + f, low = f - (high - first);
    low += F(fma)(f * f, F(poly_log)(f), F(fma)(k, K(LN2_LOW), lost / u));
    return F(copysign)(F(log_edges)(u, high + low), x);
}

/* The logarithm of 1 + f, f between those of the roots. */
static inline REAL F(log_fraction)(REAL f) { return F(fma)(f * f, F(poly_log)(f), f); }

static inline REAL F(log2)(REAL x) {
    F(parts) parts = F(split)(x);
    REAL f = F(log_fraction)(parts.fraction);
    return F(log_edges)(x, F(fma)(f, K(LOG2_E), parts.exponent));
}

static inline REAL F(log10)(REAL x) {
    F(parts) parts = F(split)(x);
    REAL f = F(log_fraction)(parts.fraction), k = parts.exponent;
    REAL low = F(fma)(f, K(LOG10_E), k * K(LOG10_2_LOW));
    return F(log_edges)(x, F(fma)(k, K(LOG10_2_HIGH), low));
}

/* ---- the error function ---- */

static inline REAL F(erf)(REAL x) {
    REAL a = F(abs)(x), within = a > K(ERF_HIGH) ? K(ERF_HIGH) : a;
    REAL inner = F(fma)(x, F(poly_erf)(x * x), x);
    REAL outer = 1 - F(exp)(F(poly_log_erfc)(within - 1));
    return a < 1 ? inner : F(copysign)(outer, x);
}

#undef R
#undef SIGN
#undef MANTISSA
#undef ROUNDER
