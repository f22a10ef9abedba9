/* For vector_both.h: the bits of numbers, what rounding loses, and whole numbers. */

#define SIGN ((BITS)1 << (8 * sizeof(BITS) - 1))
#define MANTISSA (((BITS)1 << DIGITS) - 1)

typedef struct {
    REAL high, low; /* a number as a sum of two */
} F(pair);

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

static inline REAL F(abs)(REAL x) { return F(real)(F(bits)(x) & ~SIGN); }

static inline REAL F(copysign)(REAL x, REAL sign) {
    return F(real)((F(bits)(x) & ~SIGN) | (F(bits)(sign) & SIGN));
}

/* x, its sign changed where another number has one. */
static inline REAL F(flipped)(REAL x, REAL sign) {
    return F(real)(F(bits)(x) ^ (F(bits)(sign) & SIGN));
}

/* ---- whole numbers ---- */

#if !V_ROUNDING
static inline REAL F(rint)(REAL x) {
    REAL whole = R((int64_t)1 << DIGITS), a = F(abs)(x);
    return a < whole ? F(copysign)((a + whole) - whole, x) : x;
}

static inline REAL F(floor)(REAL x) {
    REAL near = F(rint)(x);
    return F(copysign)(near > x ? near - 1 : near, x);
}

static inline REAL F(ceil)(REAL x) {
    REAL near = F(rint)(x);
    return F(copysign)(near < x ? near + 1 : near, x);
}

static inline REAL F(trunc)(REAL x) { return F(copysign)(F(floor)(F(abs)(x)), x); }
#endif

static inline REAL F(bounded)(REAL x, REAL low, REAL high) {
    x = x > high ? high : x; /* NaN stays */
    return x < low ? low : x;
}

/* ---- what rounding loses ---- */

/* Of a sum, whichever of its parts is larger. */
static inline REAL F(lost)(REAL a, REAL b, REAL sum) {
    REAL part = sum - a;
    return (a - (sum - part)) + (b - part);
}

/* Of a product. */
static inline REAL F(product_low)(REAL a, REAL b, REAL product) {
#if V_FUSED
    return F(fma)(a, b, -product);
#else
    BITS place = (BITS)1 << (DIGITS / 2), upper = ~(2 * place - 1);
    REAL a_high = F(real)((F(bits)(a) + place) & upper), a_low = a - a_high;
    REAL b_high = F(real)((F(bits)(b) + place) & upper), b_low = b - b_high;
    return (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low;
#endif
}

#undef SIGN
#undef MANTISSA
