/* Functions of loops that are a few steps of plain C, with NumPy's answers at the edges.
 *
 * T is the type, S ends the name here and f in the C library.
 */
#define STANDARD(T, S, f)                                                                          \
    static inline T v_absolute_##S(T x) { return fabs##f(x); }                                     \
    static inline T v_sqrt_##S(T x) { return sqrt##f(x); }                                         \
    static inline int v_isinf_##S(T x) { return fabs##f(x) == (T)INFINITY; }                       \
    static inline int v_isfinite_##S(T x) { return fabs##f(x) < (T)INFINITY; }                     \
    static inline int v_signbit_##S(T x) { return copysign##f(1, x) < 0; }                         \
    static inline T v_sign_##S(T x) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }            \
    static inline T v_maximum_##S(T x, T y) {                                                      \
        const T larger = x > y ? x : y;                                                            \
        return x == x ? larger : x;                                                                \
    }                                                                                              \
    static inline T v_minimum_##S(T x, T y) {                                                      \
        const T smaller = x < y ? x : y;                                                           \
        return x == x ? smaller : x;                                                               \
    }                                                                                              \
    static inline T v_fmax_##S(T x, T y) {                                                         \
        const T larger = x >= y ? x : y;                                                           \
        return y == y ? larger : x;                                                                \
    }                                                                                              \
    static inline T v_fmin_##S(T x, T y) {                                                         \
        const T smaller = x <= y ? x : y;                                                          \
        return y == y ? smaller : x;                                                               \
    }                                                                                              \
    static inline T v_logaddexp_##S(T x, T y) {                                                    \
        const T more = v_log1p_##S(v_exp_##S(-fabs##f(x - y)));                                    \
        return x == y ? x + (T)0.69314718055994530942 : v_maximum_##S(x, y) + more;                \
    }                                                                                              \
    static inline T v_logaddexp2_##S(T x, T y) {                                                   \
        const T more = v_log1p_##S(v_exp2_##S(-fabs##f(x - y))) * (T)1.4426950408889634074;        \
        return x == y ? x + 1 : v_maximum_##S(x, y) + more;                                        \
    }

STANDARD(float, f32, f)
STANDARD(double, f64, )

/* ---- what division leaves over ---- */

/* The C library subtracts bit by bit. Where quotients are near, below NEAR, a division and a product
 * are exact: those of float in double, those of double where products are fused with sums. */
#define NEAR_f32 0x1p29
#define NEAR_f64 (V_FUSED ? 0x1p52 : 0)

static inline float v_fmod_f32(float x, float y) { return fmodf(x, y); }
static inline double v_fmod_f64(double x, double y) { return fmod(x, y); }
static inline int v_far_f32(float x, float y) { return !(fabs((double)x / y) < NEAR_f32); }
static inline int v_far_f64(double x, double y) { return !(fabs(x / y) < NEAR_f64); }

static inline double v_rest_of(double x, double y, double quotient) {
    const double rest = quotient == 0 ? x : v_fma_f64(-quotient, y, x);
    const double mended = (rest < 0) != (x < 0) ? rest + v_copysign_f64(y, x) : rest;
    return rest == 0 ? v_copysign_f64(0, x) : mended;
}

static inline double v_near_fmod_f64(double x, double y) {
    return v_rest_of(x, y, v_trunc_f64(x / y));
}

static inline float v_near_fmod_f32(float x, float y) { return (float)v_near_fmod_f64(x, y); }

#define DIVISIONS(T, S, f, near)                                                                   \
    static inline T v_##near##remainder_##S(T x, T y) {                                            \
        const T rest = v_##near##fmod_##S(x, y);                                                   \
        const T full = ((y < 0) != (rest < 0)) ? rest + y : rest;                                  \
        return rest == 0 ? copysign##f(0, y) : full;                                               \
    }                                                                                              \
    static inline T v_##near##floor_divide_##S(T x, T y) {                                         \
        const T rest = v_##near##fmod_##S(x, y);                                                   \
        const T exact = (x - rest) / y - (T)((rest != 0) & ((y < 0) != (rest < 0)));               \
        const T below = v_floor_##S(exact);                                                        \
        const T whole = exact - below > (T)0.5 ? below + 1 : below;                                \
        const T signed_zero = copysign##f(0, x / y);                                               \
        return y == 0 ? x / y : exact == 0 ? signed_zero : whole;                                  \
    }

DIVISIONS(float, f32, f, )
DIVISIONS(double, f64, , )
DIVISIONS(float, f32, f, near_)
DIVISIONS(double, f64, , near_)

/* x ** (y - 1) where x ** y is known: a quotient, but for what has lost digits or is no number, and
 * for -1, of which infinite powers have no sign. */
#define POWERS(T, S)                                                                               \
    static inline int v_is_ordinary_##S(T x) {                                                     \
        return (v_abs_##S(x) >= V_SMALLEST_NORMAL_##S) & (v_abs_##S(x) < (T)INFINITY);             \
    }                                                                                              \
    static inline int v_far_power_##S(T x, T power) {                                              \
        return !(v_is_ordinary_##S(x) & v_is_ordinary_##S(power) & (x != -1));                     \
    }                                                                                              \
    static inline T v_near_power_before_##S(T x, T y, T power) {                                   \
        (void)y;                                                                                   \
        return power / x;                                                                          \
    }                                                                                              \
    static inline T v_power_before_##S(T x, T y, T power) {                                        \
        return v_far_power_##S(x, power) ? v_pow_##S(x, y - 1) : power / x;                        \
    }
POWERS(float, f32)
POWERS(double, f64)

/* ---- distances ---- */

static inline float v_hypot_f32(float x, float y) {
    const float root = (float)sqrt((double)x * x + (double)y * y);
    return v_isinf_f32(x) | v_isinf_f32(y) ? (float)INFINITY : root;
}

static inline double v_hypot_f64(double x, double y) {
    const double a = fabs(x), b = fabs(y), large = a > b ? a : b, small = a > b ? b : a;
    const double share = small / large;
    const double root = large == 0 ? small : large * sqrt(1 + share * share);
    return v_isinf_f64(x) | v_isinf_f64(y) ? (double)INFINITY : root;
}
