/* For vector_both.h: the functions that are computed alike in both types. */

/* ---- powers of two: adding ROUNDER makes a number whole, and leaves it in the lowest bits ---- */

/* x times two to the power k, in two steps so that small results are rounded but once. */
static inline REAL F(scaled)(REAL x, REAL k_and_rounder) {
    BITS power = F(bits)(k_and_rounder) - F(bits)(K(ROUNDER)) + 2 * BIAS;
    BITS half = power >> 1;
    return x * F(real)(half << DIGITS) * F(real)((power - half) << DIGITS);
}

/* Two to the power k, of those whose result is an ordinary number. */
static inline REAL F(power_of_two)(REAL k_and_rounder) {
    return F(real)((F(bits)(k_and_rounder) - F(bits)(K(ROUNDER)) + BIAS) << DIGITS);
}

/* ---- exponentials ---- */

/* exp(x) times two to a small power. */
static inline REAL F(exp_times)(REAL x, REAL power) {
    REAL within = F(bounded)(x, K(EXP_LOW), K(EXP_HIGH));
    REAL rounded = F(fma)(within, K(LOG2_E), K(ROUNDER)), k = rounded - K(ROUNDER);
    REAL r = F(fma)(k, -K(LN2_LOW), F(fma)(k, -K(LN2_HIGH), within));
    return F(scaled)(1 + F(fma)(r * r, F(poly_exp)(r), r), rounded + power);
}

static inline REAL F(exp)(REAL x) { return F(exp_times)(x, 0); }

static inline REAL F(exp2)(REAL x) {
    REAL within = F(bounded)(x, K(EXP2_LOW), K(EXP2_HIGH));
    REAL rounded = within + K(ROUNDER), r = within - (rounded - K(ROUNDER));
    return F(scaled)(1 + r * F(poly_exp2)(r), rounded);
}

/* Half of exp(x) - 1, for x from where that is -1/2 to where it overflows. */
static inline F(pair) F(half_expm1)(REAL x) {
    REAL rounded = F(fma)(x, K(LOG2_E), K(ROUNDER)), k = rounded - K(ROUNDER);
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
    F(pair) half = F(half_expm1)(F(bounded)(x, K(EXPM1_LOW), K(EXPM1_HIGH)));
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

static inline REAL F(sinh)(REAL x) {
    REAL a = F(abs)(x), z = a * a, half_power = F(exp_times)(a, -1);
    REAL inner = F(fma)(a * z, F(poly_sinh)(z), a);
    return F(copysign)(a < 1 ? inner : half_power - R(0.25) / half_power, x);
}

static inline REAL F(cosh)(REAL x) {
    REAL half_power = F(exp_times)(F(abs)(x), -1);
    return half_power + R(0.25) / half_power;
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
    result.fraction = F(real)((bits & (((BITS)1 << DIGITS) - 1)) + root) - 1;
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

static inline REAL F(asinh)(REAL x) {
    REAL a = F(abs)(x), z = a * a;
    REAL inner = a + z / (1 + F(root)(1 + z));
    REAL log = F(log1p)(a > K(LARGE) ? a : inner);
    return F(copysign)(a > K(LARGE) ? log + K(LN2) : log, x);
}

static inline REAL F(acosh)(REAL x) {
    REAL t = x - 1, inner = t + F(root)(t * (t + 2));
    REAL log = F(log1p)(x > K(LARGE) ? x : inner);
    log = x > K(LARGE) ? log + K(LN2) : log;
    return x < 1 ? R(NAN) : log;
}

static inline REAL F(atanh)(REAL x) {
    REAL a = F(abs)(x);
    return F(copysign)(R(0.5) * F(log1p)(2 * a / (1 - a)), x);
}

/* ---- the error function ---- */

static inline REAL F(erf)(REAL x) {
    REAL a = F(abs)(x), within = a > K(ERF_HIGH) ? K(ERF_HIGH) : a;
    REAL inner = F(fma)(x, F(poly_erf)(x * x), x);
    REAL outer = 1 - F(exp)(F(poly_log_erfc)(within - 1));
    return a < 1 ? inner : F(copysign)(outer, x);
}

/* exp(a * a) * erfc(a) is smooth; its polynomial is in a number from -1 to 1. */
static inline REAL F(erfc)(REAL x) {
    REAL a = F(abs)(x), within = a > K(ERFC_HIGH) ? K(ERFC_HIGH) : a;
    REAL square = within * within, square_low = F(product_low)(within, within, square);
    REAL power = F(exp)(-square), t = (within - 2) / (within + 2);
    REAL below = 1 + 2 * within, below_low = within - R(0.5) * (below - 1);
    REAL smooth = (1 + F(poly_erfc)(t)) / below; /* that is 1.2, nearly, so it tells 1 / below */
    REAL low = F(fma)(R(1.7) * smooth, below_low, square_low);
    REAL outer = power * F(fma)(-low, smooth, smooth);
    REAL inner = (1 - x) - x * F(poly_erf)(x * x);
    return a < R(0.5) ? inner : x < 0 ? 2 - outer : outer;
}

/* In the logarithm of 1 - x * x, and where that is large in one over its root. */
static inline REAL F(erfinv)(REAL x) {
    REAL a = F(abs)(x), w = -F(log)((1 - a) * (1 + a)), root = 1 / F(root)(w);
    REAL middle = F(poly_erfinv)(w - K(ERFINV_CENTRE));
    REAL outer = F(poly_erfinv_outer)(root - K(ERFINV_OUTER_CENTRE));
    REAL result = x * (w < K(ERFINV_OUTER) ? middle : outer);
    return a == 1 ? F(copysign)(R(INFINITY), x) : result;
}

/* ---- angles ---- */

static inline REAL F(sine)(REAL r, REAL low) {
    REAL z = r * r;
    return r + F(fma)(r * z, F(poly_sin)(z), low * F(fma)(R(-0.5), z, 1));
}

static inline REAL F(cosine)(REAL r, REAL low) {
    REAL z = r * r, most = F(fma)(R(-0.5), z, 1);
    REAL lost = F(fma)(R(-0.5), z, 1 - most);
    return most + (lost + F(fma)(z * z, F(poly_cos)(z), -r * low));
}

static inline REAL F(atan)(REAL x) {
    REAL a = F(abs)(x);
    REAL top = a > K(TAN_3_EIGHTHS) ? R(-1) : a > K(TAN_EIGHTH) ? a - 1 : a;
    REAL below = a > K(TAN_3_EIGHTHS) ? a : a > K(TAN_EIGHTH) ? a + 1 : R(1);
    REAL base = a > K(TAN_3_EIGHTHS) ? K(HALF_PI) : a > K(TAN_EIGHTH) ? K(HALF_PI) / 2 : R(0);
    REAL t = top / below, z = t * t, high = base + t, low = t - (high - base);
    low += F(fma)(t * z, F(poly_atan)(z), base * (K(HALF_PI_LOW) / K(HALF_PI)));
    return F(copysign)(high + low, x);
}

static inline REAL F(atan2)(REAL y, REAL x) {
    REAL a = F(abs)(x), b = F(abs)(y);
    REAL top = b > a ? a : b, below = b > a ? b : a;
    REAL equal = below == 0 ? R(0) : R(1); /* also two infinities */
    REAL angle = F(atan)(top == below ? equal : top / below);
    angle = b > a ? K(HALF_PI) - (angle - K(HALF_PI_LOW)) : angle;
    angle = F(copysign)(R(1), x) < 0 ? 2 * K(HALF_PI) - (angle - 2 * K(HALF_PI_LOW)) : angle;
    return F(copysign)(x != x ? x : angle, y);
}

static inline REAL F(asin)(REAL x) {
    REAL a = F(abs)(x), z = a > R(0.5) ? R(0.5) * (1 - a) : a * a;
    REAL s = a > R(0.5) ? F(root)(z) : a, t = F(fma)(s * z, F(poly_asin)(z), s);
    return F(copysign)(a > R(0.5) ? K(HALF_PI) - (2 * t - K(HALF_PI_LOW)) : t, x);
}

static inline REAL F(acos)(REAL x) {
    REAL a = F(abs)(x), z = a > R(0.5) ? R(0.5) * (1 - a) : a * a;
    REAL s = a > R(0.5) ? F(root)(z) : x, tail = s * z * F(poly_asin)(z);
    REAL inner = K(HALF_PI) - (x + (tail - K(HALF_PI_LOW))), outer = 2 * (s + tail);
    outer = x < 0 ? 2 * K(HALF_PI) - (outer - 2 * K(HALF_PI_LOW)) : outer;
    return a > R(0.5) ? outer : inner;
}
