/* For vector_both.h: functions that are computed with more digits than they have. */

static inline REAL F(sin)(REAL x) { return F(flipped)(F(sine_of)(x, 0), x); }

static inline REAL F(cos)(REAL x) { return F(sine_of)(x, 0.5); }

static inline REAL F(tan)(REAL x) {
    F(angle) angle = F(angle_of)(x);
    REAL k = angle.quarters, sine = F(sine)(angle.high, angle.low);
    REAL cosine = F(cosine)(angle.high, angle.low);
    REAL top = k * k == 1 ? -cosine : sine, below = k * k == 1 ? sine : cosine;
    return F(flipped)(top / below, x);
}

static inline REAL F(pow)(REAL x, REAL y) {
    REAL a = F(abs)(x), within = F(bounded)(y, -K(VERY_LARGE), K(VERY_LARGE));
    REAL power = F(magnitude)(a, within), half = R(0.5) * within;
    REAL whole = within - F(rint)(within) == 0 ? R(1) : R(0);
    REAL even = half - F(rint)(half) == 0 ? R(1) : R(0);
    power = F(flipped)(power, whole > even ? x : R(1));
    /* Conditions in numbers: GCC 12 fails at choices by several in vectors. */
    REAL nothing = (x < 0 ? R(1) : R(0)) * (a < R(INFINITY) ? R(1) : R(0)) * (1 - whole);
    REAL one = (x == 1 ? R(1) : R(0)) + (y == 0 ? R(1) : R(0));
    power = nothing > 0 ? R(NAN) : power;
    return one > 0 ? R(1) : power;
}

static inline REAL F(lgamma)(REAL x) { return (REAL)v_log_gamma(x); }

static inline REAL F(digamma)(REAL x) { return (REAL)v_log_gamma_derivative(x); }

static inline REAL F(trigamma)(REAL x) { return (REAL)v_log_gamma_curvature(x); }

static inline REAL F(i0)(REAL x) { return (REAL)v_i0_whole(x); }

static inline REAL F(i0e)(REAL x) { return (REAL)v_i0_scaled(x); }

static inline REAL F(i1)(REAL x) { return (REAL)v_i1_whole(x); }

static inline REAL F(i1e)(REAL x) { return (REAL)v_i1_scaled(x); }

static inline REAL F(k0)(REAL x) { return (REAL)v_k0_whole(x); }

static inline REAL F(k0e)(REAL x) { return (REAL)v_k0_scaled(x); }

static inline REAL F(k1)(REAL x) { return (REAL)v_k1_whole(x); }

static inline REAL F(k1e)(REAL x) { return (REAL)v_k1_scaled(x); }
