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
    static inline T v_remainder_##S(T x, T y) {                                                    \
        const T rest = v_fmod_##S(x, y);                                                           \
        const T full = ((y < 0) != (rest < 0)) ? rest + y : rest;                                  \
        return rest == 0 ? copysign##f(0, y) : full;                                               \
    }                                                                                              \
    static inline T v_floor_divide_##S(T x, T y) {                                                 \
        const T rest = v_fmod_##S(x, y);                                                           \
        const T exact = (x - rest) / y - (T)((rest != 0) & ((y < 0) != (rest < 0)));               \
        const T below = v_floor_##S(exact);                                                        \
        const T whole = exact - below > (T)0.5 ? below + 1 : below;                                \
        const T signed_zero = copysign##f(0, x / y);                                               \
        return y == 0 ? x / y : exact == 0 ? signed_zero : whole;                                  \
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
