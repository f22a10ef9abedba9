/* Mathematics for loops that a compiler turns into vector instructions: v_NAME_f32 and v_NAME_f64.
 *
 * Nothing here branches or calls, so GCC and Clang vectorise `for (i...) y[i] = v_exp_f32(x[i]);`
 * under -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off. Those flags also make the bits of
 * a result independent of where in a loop it is computed; they differ between builds with and
 * without fused multiply-add. Errors are listed in docs/notes/vector_math.md.
 *
 * What vector_both.h includes is written once, for both types; the coefficients in
 * vector_polynomials.h are written by `python -m tools.polynomials`.
 */
#ifndef ADJOINT_VECTOR_MATH_H
#define ADJOINT_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A file of loops for other instructions than the compiler's own says these two itself. */
#ifndef V_FUSED /* there is a fused multiply-add */
#if defined(__GNUC__) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
#define V_FUSED 1
#else
#define V_FUSED 0
#endif
#endif
#ifndef V_ROUNDING /* there are instructions for floor and its like */
#if defined(__GNUC__) && (defined(__SSE4_1__) || defined(__aarch64__))
#define V_ROUNDING 1
#else
#define V_ROUNDING 0
#endif
#endif

#if V_FUSED
static inline float v_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double v_fma_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
static inline float v_fma_f32(float a, float b, float c) { return a * b + c; }
static inline double v_fma_f64(double a, double b, double c) { return a * b + c; }
#endif

#if V_ROUNDING
static inline float v_floor_f32(float x) { return __builtin_floorf(x); }
static inline float v_ceil_f32(float x) { return __builtin_ceilf(x); }
static inline float v_trunc_f32(float x) { return __builtin_truncf(x); }
static inline float v_rint_f32(float x) { return __builtin_rintf(x); }
static inline double v_floor_f64(double x) { return __builtin_floor(x); }
static inline double v_ceil_f64(double x) { return __builtin_ceil(x); }
static inline double v_trunc_f64(double x) { return __builtin_trunc(x); }
static inline double v_rint_f64(double x) { return __builtin_rint(x); }
#endif

static inline float v_root_f32(float x) { return sqrtf(x); }
static inline double v_root_f64(double x) { return sqrt(x); }

#include "vector_polynomials.h"

#define V_TEMPLATE "vector_numbers.h"
#include "vector_both.h"
#undef V_TEMPLATE
#define V_TEMPLATE "vector_functions.h"
#include "vector_both.h"
#undef V_TEMPLATE
#include "vector_angles.h"
#include "vector_gamma.h"
#include "vector_bessel.h"
#include "vector_powers.h"
#define V_TEMPLATE "vector_wider.h"
#include "vector_both.h"
#undef V_TEMPLATE

#endif
