/* Includes V_TEMPLATE for double and for float: REAL, its BITS, and names F(...) and constants K(...)
 * with the type's suffix. A choice is written a ? b : c with both sides computed. */

#define V_JOIN(name, suffix) v_##name##_##suffix
#define V_JOIN_CONSTANT(name, suffix) V_##name##_##suffix
#define R(number) ((REAL)(number))

#define REAL double
#define BITS uint64_t
#define F(name) V_JOIN(name, f64)
#define K(name) V_JOIN_CONSTANT(name, f64)
#define DIGITS 52
#define BIAS 1023
#include V_TEMPLATE
#undef REAL
#undef BITS
#undef F
#undef K
#undef DIGITS
#undef BIAS

#define REAL float
#define BITS uint32_t
#define F(name) V_JOIN(name, f32)
#define K(name) V_JOIN_CONSTANT(name, f32)
#define DIGITS 23
#define BIAS 127
#include V_TEMPLATE
#undef REAL
#undef BITS
#undef F
#undef K
#undef DIGITS
#undef BIAS

#undef R
#undef V_JOIN
#undef V_JOIN_CONSTANT
