/* Written by `python -m tools.polynomials`: change that. */

#define V_SMALLEST_NORMAL_f32 0x1p-126f
#define V_ROUNDER_f32 0x1.8p+23f
#define V_TWO_TO_MINUS_64_f32 0x1p-64f
#define V_VERY_LARGE_f32 0x1p+120f
#define V_LARGE_f32 0x1p+27f
#define V_ROOT_HALF_f32 0x1.6a09e6p-1f
#define V_LN2_f32 0x1.62e43p-1f
#define V_LOG2_E_f32 0x1.715476p+0f
#define V_LOG10_E_f32 0x1.bcb7b2p-2f
#define V_EXP_LOW_f32 -0x1.ap+6f
#define V_EXP_HIGH_f32 0x1.6cp+6f
#define V_EXP2_LOW_f32 -0x1.2ep+7f
#define V_EXP2_HIGH_f32 0x1p+7f
#define V_EXPM1_LOW_f32 -0x1.4p+4f
#define V_EXPM1_HIGH_f32 0x1.64p+6f
#define V_TANH_HIGH_f32 0x1.4p+3f
#define V_ERF_HIGH_f32 0x1p+2f
#define V_ERFC_HIGH_f32 0x1.5p+3f
#define V_ERFINV_OUTER_f32 0x1.4p+2f
#define V_ERFINV_CENTRE_f32 0x1.4p+1f
#define V_ERFINV_OUTER_CENTRE_f32 0x1.62p-2f
#define V_TAN_EIGHTH_f32 0x1.a8279ap-2f
#define V_TAN_3_EIGHTHS_f32 0x1.3504f4p+1f
#define V_HALF_PI_f32 0x1.921fb6p+0f
#define V_HALF_PI_LOW_f32 -0x1.777a5cp-25f
#define V_LN2_HIGH_f32 0x1.62e4p-1f
#define V_LN2_LOW_f32 0x1.7f7d1cp-20f
#define V_LOG10_2_HIGH_f32 0x1.344p-2f
#define V_LOG10_2_LOW_f32 0x1.3509f8p-18f

static inline float v_poly_exp_f32(float x) {
    float y = 0x1.6d5168p-10f;
    y = v_fma_f32(y, x, 0x1.123e4cp-7f);
    y = v_fma_f32(y, x, 0x1.5554e4p-5f);
    y = v_fma_f32(y, x, 0x1.55548ap-3f);
    y = v_fma_f32(y, x, 0x1p-1f);
    return y;
}

static inline float v_poly_exp2_f32(float x) {
    float y = 0x1.ed3e2ap-17f;
    y = v_fma_f32(y, x, 0x1.4423fcp-13f);
    y = v_fma_f32(y, x, 0x1.5d9b4ap-10f);
    y = v_fma_f32(y, x, 0x1.3b2a48p-7f);
    y = v_fma_f32(y, x, 0x1.c6b076p-5f);
    y = v_fma_f32(y, x, 0x1.ebfbep-3f);
    y = v_fma_f32(y, x, 0x1.62e43p-1f);
    return y;
}

static inline float v_poly_log_f32(float x) {
    float y = 0x1.11c858p-4f;
    y = v_fma_f32(y, x, -0x1.dd64eap-4f);
    y = v_fma_f32(y, x, 0x1.e7a544p-4f);
    y = v_fma_f32(y, x, -0x1.fc4da2p-4f);
    y = v_fma_f32(y, x, 0x1.232cfap-3f);
    y = v_fma_f32(y, x, -0x1.555ae4p-3f);
    y = v_fma_f32(y, x, 0x1.99a546p-3f);
    y = v_fma_f32(y, x, -0x1.00000ap-2f);
    y = v_fma_f32(y, x, 0x1.555546p-2f);
    y = v_fma_f32(y, x, -0x1p-1f);
    return y;
}

static inline float v_poly_erf_f32(float x) {
    float y = 0x1.4c2e6ep-14f;
    y = v_fma_f32(y, x, -0x1.a5096p-11f);
    y = v_fma_f32(y, x, 0x1.542de8p-8f);
    y = v_fma_f32(y, x, -0x1.b7fe8ep-6f);
    y = v_fma_f32(y, x, 0x1.ce2d5p-4f);
    y = v_fma_f32(y, x, -0x1.81274p-2f);
    y = v_fma_f32(y, x, 0x1.06eba8p-3f);
    return y;
}

static inline float v_poly_log_erfc_f32(float x) {
    float y = -0x1.d0199cp-18f;
    y = v_fma_f32(y, x, 0x1.b92364p-13f);
    y = v_fma_f32(y, x, -0x1.e4ffc2p-10f);
    y = v_fma_f32(y, x, 0x1.43f604p-7f);
    y = v_fma_f32(y, x, -0x1.53d538p-5f);
    y = v_fma_f32(y, x, -0x1.afae42p-1f);
    y = v_fma_f32(y, x, -0x1.51c9ap+1f);
    y = v_fma_f32(y, x, -0x1.d97fcp+0f);
    return y;
}

static inline float v_poly_erfc_f32(float x) {
    float y = 0x1.2c340cp-12f;
    y = v_fma_f32(y, x, -0x1.58c1p-12f);
    y = v_fma_f32(y, x, -0x1.94f78ap-10f);
    y = v_fma_f32(y, x, 0x1.42522ep-10f);
    y = v_fma_f32(y, x, 0x1.1ef2d8p-7f);
    y = v_fma_f32(y, x, -0x1.070dap-7f);
    y = v_fma_f32(y, x, -0x1.bc37d6p-5f);
    y = v_fma_f32(y, x, 0x1.4ff9e8p-3f);
    y = v_fma_f32(y, x, -0x1.540788p-3f);
    y = v_fma_f32(y, x, -0x1.7bf5eap-4f);
    y = v_fma_f32(y, x, 0x1.1ba038p-2f);
    return y;
}

static inline float v_poly_erfinv_f32(float x) {
    float y = 0x1.174b8p-30f;
    y = v_fma_f32(y, x, -0x1.2a99ap-27f);
    y = v_fma_f32(y, x, 0x1.bed244p-28f);
    y = v_fma_f32(y, x, 0x1.f2f084p-22f);
    y = v_fma_f32(y, x, -0x1.c37a42p-19f);
    y = v_fma_f32(y, x, -0x1.4c9356p-18f);
    y = v_fma_f32(y, x, 0x1.c95ffp-13f);
    y = v_fma_f32(y, x, -0x1.486714p-10f);
    y = v_fma_f32(y, x, -0x1.11c0bp-8f);
    y = v_fma_f32(y, x, 0x1.f91e8cp-3f);
    y = v_fma_f32(y, x, 0x1.805c5cp+0f);
    return y;
}

static inline float v_poly_erfinv_outer_f32(float x) {
    float y = 0x1.2d2e44p+14f;
    y = v_fma_f32(y, x, -0x1.5c7db4p+12f);
    y = v_fma_f32(y, x, 0x1.7df46ep+10f);
    y = v_fma_f32(y, x, -0x1.302af8p+9f);
    y = v_fma_f32(y, x, 0x1.a237aep+7f);
    y = v_fma_f32(y, x, -0x1.135314p+6f);
    y = v_fma_f32(y, x, 0x1.90d8eap+4f);
    y = v_fma_f32(y, x, -0x1.0b959ep+3f);
    y = v_fma_f32(y, x, 0x1.5cdf86p+1f);
    return y;
}

static inline float v_poly_sinh_f32(float x) {
    float y = 0x1.76ac86p-19f;
    y = v_fma_f32(y, x, 0x1.a01adp-13f);
    y = v_fma_f32(y, x, 0x1.1110ecp-7f);
    y = v_fma_f32(y, x, 0x1.555556p-3f);
    return y;
}

static inline float v_poly_sin_f32(float x) {
    float y = 0x1.7864f8p-19f;
    y = v_fma_f32(y, x, -0x1.a04a76p-13f);
    y = v_fma_f32(y, x, 0x1.111166p-7f);
    y = v_fma_f32(y, x, -0x1.555556p-3f);
    return y;
}

static inline float v_poly_cos_f32(float x) {
    float y = 0x1.99e9d4p-16f;
    y = v_fma_f32(y, x, -0x1.6c0c2cp-10f);
    y = v_fma_f32(y, x, 0x1.55554ap-5f);
    return y;
}

static inline float v_poly_atan_f32(float x) {
    float y = -0x1.f06472p-5f;
    y = v_fma_f32(y, x, 0x1.b1952ap-4f);
    y = v_fma_f32(y, x, -0x1.23ae5cp-3f);
    y = v_fma_f32(y, x, 0x1.999128p-3f);
    y = v_fma_f32(y, x, -0x1.555548p-2f);
    return y;
}

static inline float v_poly_asin_f32(float x) {
    float y = 0x1.339b8cp-5f;
    y = v_fma_f32(y, x, 0x1.d82aeap-7f);
    y = v_fma_f32(y, x, 0x1.04a60cp-5f);
    y = v_fma_f32(y, x, 0x1.6cabap-5f);
    y = v_fma_f32(y, x, 0x1.33389ap-4f);
    y = v_fma_f32(y, x, 0x1.55554cp-3f);
    return y;
}

#define V_SMALLEST_NORMAL_f64 0x1p-1022
#define V_ROUNDER_f64 0x1.8p+52
#define V_TWO_TO_MINUS_64_f64 0x1p-64
#define V_VERY_LARGE_f64 0x1p+1000
#define V_LARGE_f64 0x1p+56
#define V_ROOT_HALF_f64 0x1.6a09e667f3bcdp-1
#define V_LN2_f64 0x1.62e42fefa39efp-1
#define V_LOG2_E_f64 0x1.71547652b82fep+0
#define V_LOG10_E_f64 0x1.bcb7b1526e50ep-2
#define V_EXP_LOW_f64 -0x1.75p+9
#define V_EXP_HIGH_f64 0x1.64p+9
#define V_EXP2_LOW_f64 -0x1.0dp+10
#define V_EXP2_HIGH_f64 0x1p+10
#define V_EXPM1_LOW_f64 -0x1.4p+5
#define V_EXPM1_HIGH_f64 0x1.63p+9
#define V_TANH_HIGH_f64 0x1.4p+4
#define V_ERF_HIGH_f64 0x1.8p+2
#define V_ERFC_HIGH_f64 0x1.cp+4
#define V_ERFINV_OUTER_f64 0x1.2p+3
#define V_ERFINV_CENTRE_f64 0x1.2p+2
#define V_ERFINV_OUTER_CENTRE_f64 0x1.fep-3
#define V_TAN_EIGHTH_f64 0x1.a827999fcef32p-2
#define V_TAN_3_EIGHTHS_f64 0x1.3504f333f9de6p+1
#define V_HALF_PI_f64 0x1.921fb54442d18p+0
#define V_HALF_PI_LOW_f64 0x1.1a62633145c07p-54
#define V_LN2_HIGH_f64 0x1.62e42fefa4p-1
#define V_LN2_LOW_f64 -0x1.8432a1b0e2634p-43
#define V_LOG10_2_HIGH_f64 0x1.34413509f8p-2
#define V_LOG10_2_LOW_f64 -0x1.80433b83b532ap-44
#define V_DIGAMMA_ROOT_f64 0x1.762d86356be3fp+0
#define V_DIGAMMA_ROOT_LOW_f64 0x1.b86a722197829p-54
#define V_TWO_THIRDS_f64 0x1.5555555555555p-1
#define V_TWO_THIRDS_LOW_f64 0x1.5555555555555p-55
#define V_STIRLING_f64 0x1.acfe390c97d69p-2

static inline double v_poly_exp_f64(double x) {
    double y = 0x1.af6ee5873015fp-26;
    y = v_fma_f64(y, x, 0x1.28a190a977dddp-22);
    y = v_fma_f64(y, x, 0x1.71ddee3ecd5ddp-19);
    y = v_fma_f64(y, x, 0x1.a019a912c1911p-16);
    y = v_fma_f64(y, x, 0x1.a01a01b455d91p-13);
    y = v_fma_f64(y, x, 0x1.6c16c17d75dafp-10);
    y = v_fma_f64(y, x, 0x1.111111110e9dep-7);
    y = v_fma_f64(y, x, 0x1.5555555552fb2p-5);
    y = v_fma_f64(y, x, 0x1.555555555555cp-3);
    y = v_fma_f64(y, x, 0x1p-1);
    return y;
}

static inline double v_poly_exp2_f64(double x) {
    double y = 0x1.c0ddcdb67c093p-36;
    y = v_fma_f64(y, x, 0x1.eafe8883d6d27p-32);
    y = v_fma_f64(y, x, 0x1.e4d20514484c2p-28);
    y = v_fma_f64(y, x, 0x1.b524224fae8b2p-24);
    y = v_fma_f64(y, x, 0x1.62c0216274112p-20);
    y = v_fma_f64(y, x, 0x1.ffcbfcdbb0872p-17);
    y = v_fma_f64(y, x, 0x1.430912f8a96e7p-13);
    y = v_fma_f64(y, x, 0x1.5d87fe7888b62p-10);
    y = v_fma_f64(y, x, 0x1.3b2ab6fba4d8p-7);
    y = v_fma_f64(y, x, 0x1.c6b08d704a183p-5);
    y = v_fma_f64(y, x, 0x1.ebfbdff82c58fp-3);
    y = v_fma_f64(y, x, 0x1.62e42fefa39efp-1);
    return y;
}

static inline double v_poly_log_f64(double x) {
    double y = -0x1.8804d571138ffp-6;
    y = v_fma_f64(y, x, 0x1.cf57dcdb3d8d9p-5);
    y = v_fma_f64(y, x, -0x1.0103043189d1bp-4);
    y = v_fma_f64(y, x, 0x1.bcee373a522a7p-5);
    y = v_fma_f64(y, x, -0x1.b4a535563b705p-5);
    y = v_fma_f64(y, x, 0x1.dc64f502e191ap-5);
    y = v_fma_f64(y, x, -0x1.00c7ce2a7c196p-4);
    y = v_fma_f64(y, x, 0x1.116c40d940c85p-4);
    y = v_fma_f64(y, x, -0x1.248a1b15f14e7p-4);
    y = v_fma_f64(y, x, 0x1.3b0d57a3e0e74p-4);
    y = v_fma_f64(y, x, -0x1.55556aa767e1cp-4);
    y = v_fma_f64(y, x, 0x1.745d5a357dd63p-4);
    y = v_fma_f64(y, x, -0x1.99999b0aa632p-4);
    y = v_fma_f64(y, x, 0x1.c71c70228f7b5p-4);
    y = v_fma_f64(y, x, -0x1.fffffff193806p-4);
    y = v_fma_f64(y, x, 0x1.249249277ee5cp-3);
    y = v_fma_f64(y, x, -0x1.555555556dc05p-3);
    y = v_fma_f64(y, x, 0x1.99999999946f2p-3);
    y = v_fma_f64(y, x, -0x1.ffffffffffe54p-3);
    y = v_fma_f64(y, x, 0x1.555555555556fp-2);
    y = v_fma_f64(y, x, -0x1p-1);
    return y;
}

static inline double v_poly_erf_f64(double x) {
    double y = 0x1.f7ab87887cce5p-34;
    y = v_fma_f64(y, x, -0x1.cac367b3a4b85p-31);
    y = v_fma_f64(y, x, 0x1.7ed07558b628p-29);
    y = v_fma_f64(y, x, -0x1.b82a8b4ec699p-28);
    y = v_fma_f64(y, x, 0x1.6ee513da3606p-26);
    y = v_fma_f64(y, x, -0x1.6bc2e431725eep-23);
    y = v_fma_f64(y, x, 0x1.badad56e7b8dp-20);
    y = v_fma_f64(y, x, -0x1.f4dfd526247fep-17);
    y = v_fma_f64(y, x, 0x1.f9a3adb9ad486p-14);
    y = v_fma_f64(y, x, -0x1.c02db7a6c05c5p-11);
    y = v_fma_f64(y, x, 0x1.565bcd1f53f3ep-8);
    y = v_fma_f64(y, x, -0x1.b82ce312eb273p-6);
    y = v_fma_f64(y, x, 0x1.ce2f21a04402ap-4);
    y = v_fma_f64(y, x, -0x1.812746b037a06p-2);
    y = v_fma_f64(y, x, 0x1.06eba8214db69p-3);
    return y;
}

static inline double v_poly_log_erfc_f64(double x) {
    double y = 0x1.26cce238b1999p-40;
    y = v_fma_f64(y, x, -0x1.fe7322c448751p-36);
    y = v_fma_f64(y, x, 0x1.975397a274e53p-32);
    y = v_fma_f64(y, x, -0x1.8ba8ce984eb64p-29);
    y = v_fma_f64(y, x, 0x1.0150cf07bdd99p-26);
    y = v_fma_f64(y, x, -0x1.c0d2b59d131bbp-25);
    y = v_fma_f64(y, x, 0x1.a51a00b141225p-24);
    y = v_fma_f64(y, x, 0x1.30f24ff180326p-23);
    y = v_fma_f64(y, x, -0x1.144d9d0565da1p-19);
    y = v_fma_f64(y, x, 0x1.4261fe2415aaep-17);
    y = v_fma_f64(y, x, -0x1.c7a3d9f460b02p-16);
    y = v_fma_f64(y, x, 0x1.b8dc9e6c88cd9p-16);
    y = v_fma_f64(y, x, 0x1.f1b3a2b4fe94ep-13);
    y = v_fma_f64(y, x, -0x1.033f661fa4ccfp-9);
    y = v_fma_f64(y, x, 0x1.48c9d3f047d22p-7);
    y = v_fma_f64(y, x, -0x1.5477f09c29a4ep-5);
    y = v_fma_f64(y, x, -0x1.afabc11a29379p-1);
    y = v_fma_f64(y, x, -0x1.51c9b0006c23bp+1);
    y = v_fma_f64(y, x, -0x1.d97fbf27aa2a1p+0);
    return y;
}

static inline double v_poly_erfc_f64(double x) {
    double y = -0x1.0efa87c08fcaep-26;
    y = v_fma_f64(y, x, -0x1.051a62a9f5c67p-24);
    y = v_fma_f64(y, x, 0x1.980981caa503ep-23);
    y = v_fma_f64(y, x, 0x1.08b3ca9697ddbp-22);
    y = v_fma_f64(y, x, -0x1.6c516b7e9582cp-22);
    y = v_fma_f64(y, x, -0x1.d9fcf148875b9p-21);
    y = v_fma_f64(y, x, -0x1.5573fa476aed2p-21);
    y = v_fma_f64(y, x, 0x1.9380c42a1267cp-20);
    y = v_fma_f64(y, x, 0x1.5d29f96780072p-18);
    y = v_fma_f64(y, x, 0x1.f3414a6ed8d6ap-19);
    y = v_fma_f64(y, x, -0x1.c4a8c55cfdcafp-17);
    y = v_fma_f64(y, x, -0x1.3192e13bb314ap-15);
    y = v_fma_f64(y, x, -0x1.952605f10103p-20);
    y = v_fma_f64(y, x, 0x1.3cc0fbafaa7cfp-13);
    y = v_fma_f64(y, x, 0x1.b0c86969fa804p-13);
    y = v_fma_f64(y, x, -0x1.dc6936eae957fp-12);
    y = v_fma_f64(y, x, -0x1.7de520463ddd8p-10);
    y = v_fma_f64(y, x, 0x1.4d461d3c1e242p-10);
    y = v_fma_f64(y, x, 0x1.1dd2ec8e92ccbp-7);
    y = v_fma_f64(y, x, -0x1.074234048ba41p-7);
    y = v_fma_f64(y, x, -0x1.bc2b95619277p-5);
    y = v_fma_f64(y, x, 0x1.4ffa1e14e279ep-3);
    y = v_fma_f64(y, x, -0x1.5407bebf324c6p-3);
    y = v_fma_f64(y, x, -0x1.7bf5ec1700631p-4);
    y = v_fma_f64(y, x, 0x1.1ba03889de54ep-2);
    return y;
}

static inline double v_poly_erfinv_f64(double x) {
    double y = 0x1.56c1cdf710d06p-89;
    y = v_fma_f64(y, x, 0x1.efef1534863bbp-85);
    y = v_fma_f64(y, x, -0x1.14648d13adca5p-80);
    y = v_fma_f64(y, x, -0x1.8f6a50fc82b11p-78);
    y = v_fma_f64(y, x, 0x1.254a147869087p-73);
    y = v_fma_f64(y, x, -0x1.2233b5cebca47p-73);
    y = v_fma_f64(y, x, -0x1.0c7c19f039d64p-67);
    y = v_fma_f64(y, x, 0x1.b9287a351f082p-65);
    y = v_fma_f64(y, x, 0x1.08e33c91d89cap-65);
    y = v_fma_f64(y, x, -0x1.721ff6d846a29p-59);
    y = v_fma_f64(y, x, 0x1.877664fc9f7e9p-56);
    y = v_fma_f64(y, x, -0x1.d776da87a95p-55);
    y = v_fma_f64(y, x, -0x1.efe00c28083c3p-51);
    y = v_fma_f64(y, x, 0x1.9a7d0a7a0a83bp-47);
    y = v_fma_f64(y, x, -0x1.d28f2b07b8584p-45);
    y = v_fma_f64(y, x, -0x1.103607c3743dbp-42);
    y = v_fma_f64(y, x, 0x1.8879f4b39f419p-38);
    y = v_fma_f64(y, x, -0x1.459456dd7123dp-35);
    y = v_fma_f64(y, x, -0x1.374bd125cdaedp-37);
    y = v_fma_f64(y, x, 0x1.5420183173e2fp-29);
    y = v_fma_f64(y, x, -0x1.8d99195f79f1bp-26);
    y = v_fma_f64(y, x, 0x1.0f51ec6077555p-24);
    y = v_fma_f64(y, x, 0x1.e091a21977593p-21);
    y = v_fma_f64(y, x, -0x1.bfb4995450172p-17);
    y = v_fma_f64(y, x, 0x1.5a3f345af96f9p-14);
    y = v_fma_f64(y, x, -0x1.cfddbc156949cp-19);
    y = v_fma_f64(y, x, -0x1.e2d6c1c2aae03p-8);
    y = v_fma_f64(y, x, 0x1.c4ae2ddd4a31dp-3);
    y = v_fma_f64(y, x, 0x1.f89c263100a0fp+0);
    return y;
}

static inline double v_poly_erfinv_outer_f64(double x) {
    double y = -0x1.5325fd52b3be6p+50;
    y = v_fma_f64(y, x, 0x1.de52467bdd47fp+48);
    y = v_fma_f64(y, x, 0x1.44927dc0bb11ep+43);
    y = v_fma_f64(y, x, -0x1.19d1bd0ea70c7p+44);
    y = v_fma_f64(y, x, -0x1.0dd876078c885p+39);
    y = v_fma_f64(y, x, 0x1.cdbac3ba58c9fp+39);
    y = v_fma_f64(y, x, -0x1.f226f2bba3a1ap+36);
    y = v_fma_f64(y, x, 0x1.0c0b35d81a9f7p+32);
    y = v_fma_f64(y, x, -0x1.1b199e2a0f963p+31);
    y = v_fma_f64(y, x, 0x1.451e48402c25ap+30);
    y = v_fma_f64(y, x, -0x1.46a99a9fbd6f3p+28);
    y = v_fma_f64(y, x, 0x1.fd42ee7e661b3p+25);
    y = v_fma_f64(y, x, -0x1.efb3cf7349f93p+23);
    y = v_fma_f64(y, x, 0x1.11b083dfffaf4p+22);
    y = v_fma_f64(y, x, -0x1.10908b5e41599p+20);
    y = v_fma_f64(y, x, 0x1.05b3a2ef0c7c9p+18);
    y = v_fma_f64(y, x, -0x1.078dcb4ab53dp+16);
    y = v_fma_f64(y, x, 0x1.08f0ea1a8269ap+14);
    y = v_fma_f64(y, x, -0x1.05ab8258e67ap+12);
    y = v_fma_f64(y, x, 0x1.05ee7885a7903p+10);
    y = v_fma_f64(y, x, -0x1.05810dba92568p+8);
    y = v_fma_f64(y, x, 0x1.06c2d30315651p+6);
    y = v_fma_f64(y, x, -0x1.04789f91b9761p+4);
    y = v_fma_f64(y, x, 0x1.ed84eed741a63p+1);
    return y;
}

static inline double v_poly_sinh_f64(double x) {
    double y = 0x1.3e910875002cfp-48;
    y = v_fma_f64(y, x, 0x1.aac7adb499677p-41);
    y = v_fma_f64(y, x, 0x1.612aab541809fp-33);
    y = v_fma_f64(y, x, 0x1.ae644b4bc344cp-26);
    y = v_fma_f64(y, x, 0x1.71de3a609a725p-19);
    y = v_fma_f64(y, x, 0x1.a01a01a00dbafp-13);
    y = v_fma_f64(y, x, 0x1.111111111117cp-7);
    y = v_fma_f64(y, x, 0x1.5555555555555p-3);
    return y;
}

static inline double v_poly_sin_f64(double x) {
    double y = -0x1.a53a1af04d668p-41;
    y = v_fma_f64(y, x, 0x1.61145d892d0a8p-33);
    y = v_fma_f64(y, x, -0x1.ae643ccfed96bp-26);
    y = v_fma_f64(y, x, 0x1.71de3a3fc19bcp-19);
    y = v_fma_f64(y, x, -0x1.a01a01a0069a9p-13);
    y = v_fma_f64(y, x, 0x1.111111111108ap-7);
    y = v_fma_f64(y, x, -0x1.5555555555555p-3);
    return y;
}

static inline double v_poly_sin_of_halves_f64(double x) {
    double y = -0x1.bfa2a11a20bbp-8;
    y = v_fma_f64(y, x, 0x1.4f7c683b490a8p-4);
    y = v_fma_f64(y, x, -0x1.32cc4fb4b0ee5p-1);
    y = v_fma_f64(y, x, 0x1.466b9fac08238p+1);
    y = v_fma_f64(y, x, -0x1.4abbcdb88416fp+2);
    y = v_fma_f64(y, x, 0x1.921fb54260897p+1);
    return y;
}

static inline double v_poly_log_ratio_f64(double x) {
    double y = 0x1.0e5bdf22dd327p-3;
    y = v_fma_f64(y, x, 0x1.0f7d00c562959p-3);
    y = v_fma_f64(y, x, 0x1.3b1f0ea55ec6p-3);
    y = v_fma_f64(y, x, 0x1.745ce910ca9cbp-3);
    y = v_fma_f64(y, x, 0x1.c71c723013e35p-3);
    y = v_fma_f64(y, x, 0x1.2492492455a66p-2);
    y = v_fma_f64(y, x, 0x1.9999999999b46p-2);
    return y;
}

static inline double v_poly_lgamma_f64(double x) {
    double y = 0x1.6da5538a9264fp-24;
    y = v_fma_f64(y, x, 0x1.4c5ce6e0e5449p-24);
    y = v_fma_f64(y, x, 0x1.85b022668c40fp-26);
    y = v_fma_f64(y, x, -0x1.cabda346bc595p-23);
    y = v_fma_f64(y, x, 0x1.84ae1fbb02a62p-23);
    y = v_fma_f64(y, x, -0x1.acda5cdbcb9f5p-22);
    y = v_fma_f64(y, x, 0x1.075de6f8a5936p-20);
    y = v_fma_f64(y, x, -0x1.132031abbf128p-19);
    y = v_fma_f64(y, x, 0x1.250391172cc87p-18);
    y = v_fma_f64(y, x, -0x1.3cb482abac669p-17);
    y = v_fma_f64(y, x, 0x1.581483ae709e6p-16);
    y = v_fma_f64(y, x, -0x1.78de4635f0051p-15);
    y = v_fma_f64(y, x, 0x1.a12783a4f42f3p-14);
    y = v_fma_f64(y, x, -0x1.d3fd4eba4a9fcp-13);
    y = v_fma_f64(y, x, 0x1.0b36afde07d46p-11);
    y = v_fma_f64(y, x, -0x1.38ac5c257a636p-10);
    y = v_fma_f64(y, x, 0x1.7add6ead02ee7p-9);
    y = v_fma_f64(y, x, -0x1.e404fc21a0053p-8);
    y = v_fma_f64(y, x, 0x1.51322ac7d897fp-6);
    y = v_fma_f64(y, x, -0x1.13e001a5575bep-4);
    y = v_fma_f64(y, x, 0x1.4a34cc4a60fa6p-2);
    y = v_fma_f64(y, x, 0x1.b0ee6072093cep-2);
    return y;
}

static inline double v_poly_lgamma_large_f64(double x) {
    double y = 0x1.46a0008d2553p-8;
    y = v_fma_f64(y, x, -0x1.ee7516845ba04p-10);
    y = v_fma_f64(y, x, 0x1.b921349034849p-11);
    y = v_fma_f64(y, x, -0x1.381332c489e55p-11);
    y = v_fma_f64(y, x, 0x1.a01a015e9802cp-11);
    y = v_fma_f64(y, x, -0x1.6c16c16c10ab5p-9);
    y = v_fma_f64(y, x, 0x1.5555555555555p-4);
    return y;
}

static inline double v_poly_digamma_f64(double x) {
    double y = -0x1.757c61b5fe81cp-13;
    y = v_fma_f64(y, x, 0x1.13831e562f529p-12);
    y = v_fma_f64(y, x, -0x1.30107da2cd50bp-13);
    y = v_fma_f64(y, x, 0x1.d423980867ddcp-13);
    y = v_fma_f64(y, x, -0x1.fd6fc26b57dd5p-12);
    y = v_fma_f64(y, x, 0x1.7c68910d5245ep-11);
    y = v_fma_f64(y, x, -0x1.0fb63e403bec7p-10);
    y = v_fma_f64(y, x, 0x1.97e092a018cd8p-10);
    y = v_fma_f64(y, x, -0x1.336d72ed7f685p-9);
    y = v_fma_f64(y, x, 0x1.cd42cb6b7c28ap-9);
    y = v_fma_f64(y, x, -0x1.5a06ab265e36ap-8);
    y = v_fma_f64(y, x, 0x1.03bfe4d8f795p-7);
    y = v_fma_f64(y, x, -0x1.863563b6df45ap-7);
    y = v_fma_f64(y, x, 0x1.2564773b323b8p-6);
    y = v_fma_f64(y, x, -0x1.b9f8b11db6c8p-6);
    y = v_fma_f64(y, x, 0x1.4de9a9fe0b2cbp-5);
    y = v_fma_f64(y, x, -0x1.fb44202a1bdc9p-5);
    y = v_fma_f64(y, x, 0x1.8512e5907602dp-4);
    y = v_fma_f64(y, x, -0x1.2feeeb98a7961p-3);
    y = v_fma_f64(y, x, 0x1.eca189b8e6b59p-3);
    y = v_fma_f64(y, x, -0x1.b1cb63005ee98p-2);
    y = v_fma_f64(y, x, 0x1.e6f0cbb873617p-1);
    return y;
}

static inline double v_poly_digamma_large_f64(double x) {
    double y = 0x1.f7baa5a4e61dep-5;
    y = v_fma_f64(y, x, -0x1.5149a59c3b913p-6);
    y = v_fma_f64(y, x, 0x1.f011d06dbbb85p-8);
    y = v_fma_f64(y, x, -0x1.111052bfb9cd5p-8);
    y = v_fma_f64(y, x, 0x1.0410404c29f46p-8);
    y = v_fma_f64(y, x, -0x1.11111110e6a89p-7);
    y = v_fma_f64(y, x, 0x1.5555555555548p-4);
    return y;
}

static inline double v_poly_trigamma_large_f64(double x) {
    double y = 0x1.a6fb3f335c5cdp-1;
    y = v_fma_f64(y, x, -0x1.f65bf06e80d9fp-3);
    y = v_fma_f64(y, x, 0x1.35e768437b319p-4);
    y = v_fma_f64(y, x, -0x1.110fa4115064p-5);
    y = v_fma_f64(y, x, 0x1.86185ec56b37dp-6);
    y = v_fma_f64(y, x, -0x1.111111106e8f1p-5);
    y = v_fma_f64(y, x, 0x1.55555555554efp-3);
    return y;
}

static inline double v_poly_i0_f64(double x) {
    double y = 0x1.1339e7fed7804p-120;
    y = v_fma_f64(y, x, 0x1.3ec8c607ef253p-111);
    y = v_fma_f64(y, x, 0x1.43d87e3ef8c43p-101);
    y = v_fma_f64(y, x, 0x1.e627d7c24871ep-92);
    y = v_fma_f64(y, x, 0x1.41a6f490146cfp-82);
    y = v_fma_f64(y, x, 0x1.69c94a21b15c7p-73);
    y = v_fma_f64(y, x, 0x1.56019da2dd3c5p-64);
    y = v_fma_f64(y, x, 0x1.0b313191cd0a7p-55);
    y = v_fma_f64(y, x, 0x1.522a440687d9bp-47);
    y = v_fma_f64(y, x, 0x1.522a43f596af1p-39);
    y = v_fma_f64(y, x, 0x1.02e85c089e8f5p-31);
    y = v_fma_f64(y, x, 0x1.23456789ab941p-24);
    y = v_fma_f64(y, x, 0x1.c71c71c71c744p-18);
    y = v_fma_f64(y, x, 0x1.c71c71c71c71cp-12);
    y = v_fma_f64(y, x, 0x1p-6);
    y = v_fma_f64(y, x, 0x1p-2);
    y = v_fma_f64(y, x, 0x1p+0);
    return y;
}

static inline double v_poly_i1_f64(double x) {
    double y = 0x1.1786c15787e32p-115;
    y = v_fma_f64(y, x, 0x1.274157f1effb3p-106);
    y = v_fma_f64(y, x, 0x1.1c0a2e92f7de9p-96);
    y = v_fma_f64(y, x, 0x1.8ada42adfbf0bp-87);
    y = v_fma_f64(y, x, 0x1.e27ff0934af1ap-78);
    y = v_fma_f64(y, x, 0x1.f17439b196ff7p-69);
    y = v_fma_f64(y, x, 0x1.ab820edfc03f3p-60);
    y = v_fma_f64(y, x, 0x1.2c97574704a3ap-51);
    y = v_fma_f64(y, x, 0x1.522a440f44ec6p-43);
    y = v_fma_f64(y, x, 0x1.27e4fb76782e6p-35);
    y = v_fma_f64(y, x, 0x1.845c8a0cf4b2bp-28);
    y = v_fma_f64(y, x, 0x1.6c16c16c1634p-21);
    y = v_fma_f64(y, x, 0x1.c71c71c71c773p-15);
    y = v_fma_f64(y, x, 0x1.5555555555554p-9);
    y = v_fma_f64(y, x, 0x1p-4);
    y = v_fma_f64(y, x, 0x1p-1);
    return y;
}

static inline double v_poly_i0_large_f64(double x) {
    double y = -0x1.644ed347fde38p-36;
    y = v_fma_f64(y, x, 0x1.8e64b798558dbp-34);
    y = v_fma_f64(y, x, 0x1.4fe73ad1ec4cdp-33);
    y = v_fma_f64(y, x, -0x1.62f986a005f33p-31);
    y = v_fma_f64(y, x, -0x1.3a2c4cc327134p-31);
    y = v_fma_f64(y, x, 0x1.27e136b27ba7cp-29);
    y = v_fma_f64(y, x, 0x1.a1caf39f10816p-30);
    y = v_fma_f64(y, x, -0x1.361cdbf4f8fddp-28);
    y = v_fma_f64(y, x, -0x1.e1d5de774de7bp-29);
    y = v_fma_f64(y, x, 0x1.bef261fa0c3b8p-28);
    y = v_fma_f64(y, x, 0x1.03806233e9552p-27);
    y = v_fma_f64(y, x, -0x1.57f681ebe85f7p-28);
    y = v_fma_f64(y, x, -0x1.ccb9bc76efe4bp-27);
    y = v_fma_f64(y, x, -0x1.d78b5f5d637dfp-28);
    y = v_fma_f64(y, x, 0x1.0393ad5009babp-27);
    y = v_fma_f64(y, x, 0x1.728eea24a893ep-26);
    y = v_fma_f64(y, x, 0x1.51ce72bb0546p-25);
    y = v_fma_f64(y, x, 0x1.7d0c8ac0af14p-24);
    y = v_fma_f64(y, x, 0x1.3f49a7d2ce3e9p-22);
    y = v_fma_f64(y, x, 0x1.8e513cdd037dap-20);
    y = v_fma_f64(y, x, 0x1.75e5ee7195221p-17);
    y = v_fma_f64(y, x, 0x1.1daa72b5c2a5bp-13);
    y = v_fma_f64(y, x, 0x1.b87969bb93b86p-9);
    y = v_fma_f64(y, x, 0x1.9bd428ad249a5p-2);
    return y;
}

static inline double v_poly_i1_large_f64(double x) {
    double y = 0x1.4654d620f8528p-36;
    y = v_fma_f64(y, x, -0x1.b7ad576b55089p-34);
    y = v_fma_f64(y, x, -0x1.349320f44d464p-33);
    y = v_fma_f64(y, x, 0x1.84019cd263325p-31);
    y = v_fma_f64(y, x, 0x1.236d8caeff7e8p-31);
    y = v_fma_f64(y, x, -0x1.40884bb83fbabp-29);
    y = v_fma_f64(y, x, -0x1.8bb275e90eb6ep-30);
    y = v_fma_f64(y, x, 0x1.4e06bf5bb189bp-28);
    y = v_fma_f64(y, x, 0x1.d7010f6a18adp-29);
    y = v_fma_f64(y, x, -0x1.e3020151fc108p-28);
    y = v_fma_f64(y, x, -0x1.069b767f4f4e4p-27);
    y = v_fma_f64(y, x, 0x1.822bdb5292a4ep-28);
    y = v_fma_f64(y, x, 0x1.e2383df1fd477p-27);
    y = v_fma_f64(y, x, 0x1.d55d05303f41dp-28);
    y = v_fma_f64(y, x, -0x1.2193e605733c2p-27);
    y = v_fma_f64(y, x, -0x1.91d6846e85303p-26);
    y = v_fma_f64(y, x, -0x1.727a0b060b59bp-25);
    y = v_fma_f64(y, x, -0x1.ad8b9d612d609p-24);
    y = v_fma_f64(y, x, -0x1.76137f8befe7dp-22);
    y = v_fma_f64(y, x, -0x1.ec8e11b45eb68p-20);
    y = v_fma_f64(y, x, -0x1.f89c23060e90dp-17);
    y = v_fma_f64(y, x, -0x1.cbc54df1e050bp-13);
    y = v_fma_f64(y, x, -0x1.3f796198ee62dp-7);
    y = v_fma_f64(y, x, 0x1.8ebe783a8403p-2);
    return y;
}

static inline double v_poly_k0_f64(double x) {
    double y = 0x1.5ad0aa9d1347ap-38;
    y = v_fma_f64(y, x, 0x1.e4cbf2d359656p-31);
    y = v_fma_f64(y, x, 0x1.f0f18101b7a94p-24);
    y = v_fma_f64(y, x, 0x1.56b9b675f0572p-17);
    y = v_fma_f64(y, x, 0x1.1dd628656105cp-11);
    y = v_fma_f64(y, x, 0x1.d87730390426fp-7);
    y = v_fma_f64(y, x, 0x1.b0ee6072093dfp-4);
    y = v_fma_f64(y, x, -0x1.2788cfc6fb619p-1);
    return y;
}

static inline double v_poly_k1_f64(double x) {
    double y = -0x1.252241055454cp-34;
    y = v_fma_f64(y, x, -0x1.5b6861d780ac1p-27);
    y = v_fma_f64(y, x, -0x1.24629fbabbad8p-20);
    y = v_fma_f64(y, x, -0x1.3a47ef4b6043bp-14);
    y = v_fma_f64(y, x, -0x1.73ddae5f51484p-9);
    y = v_fma_f64(y, x, -0x1.5877303903d73p-5);
    y = v_fma_f64(y, x, 0x1.3c467e37db049p-5);
    y = v_fma_f64(y, x, 0x1p+0);
    return y;
}

static inline double v_poly_k0_large_f64(double x) {
    double y = 0x1.d3f1d80955cb4p-26;
    y = v_fma_f64(y, x, -0x1.98cf2ad3269cap-26);
    y = v_fma_f64(y, x, -0x1.9cdf76a9b33b8p-23);
    y = v_fma_f64(y, x, 0x1.488c74210252dp-23);
    y = v_fma_f64(y, x, 0x1.54b6d4746ae59p-21);
    y = v_fma_f64(y, x, -0x1.eedeccbc9f7e5p-22);
    y = v_fma_f64(y, x, -0x1.5634a023b95b9p-20);
    y = v_fma_f64(y, x, 0x1.c1ca517c9f4ap-21);
    y = v_fma_f64(y, x, 0x1.d2fb4fae7bfccp-20);
    y = v_fma_f64(y, x, -0x1.147dce26ca12fp-20);
    y = v_fma_f64(y, x, -0x1.c44e87d5564p-20);
    y = v_fma_f64(y, x, 0x1.d8f6e8d68b0cfp-21);
    y = v_fma_f64(y, x, 0x1.4630209587e4fp-20);
    y = v_fma_f64(y, x, -0x1.33de451adaab4p-21);
    y = v_fma_f64(y, x, -0x1.45e278b318682p-21);
    y = v_fma_f64(y, x, 0x1.b4b7cffc0a95bp-23);
    y = v_fma_f64(y, x, 0x1.68dcabd84916fp-22);
    y = v_fma_f64(y, x, -0x1.f2a2e510a0f8p-23);
    y = v_fma_f64(y, x, 0x1.9462ab10da86fp-23);
    y = v_fma_f64(y, x, -0x1.e4db403dfd0dp-22);
    y = v_fma_f64(y, x, 0x1.dd0ff9ddc60fap-21);
    y = v_fma_f64(y, x, -0x1.bf0c49f8a3578p-20);
    y = v_fma_f64(y, x, 0x1.b609feafc4e1p-19);
    y = v_fma_f64(y, x, -0x1.bee0a07867fd9p-18);
    y = v_fma_f64(y, x, 0x1.dbdd0bd23112cp-17);
    y = v_fma_f64(y, x, -0x1.0ae1c66f5ebe1p-15);
    y = v_fma_f64(y, x, 0x1.3f1d1e02a99ccp-14);
    y = v_fma_f64(y, x, -0x1.9db9cc15da87bp-13);
    y = v_fma_f64(y, x, 0x1.2a7215a6cdb7fp-11);
    y = v_fma_f64(y, x, -0x1.f446a7e27dcdcp-10);
    y = v_fma_f64(y, x, 0x1.085a24b1d83c9p-7);
    y = v_fma_f64(y, x, -0x1.ac450893fa53bp-5);
    y = v_fma_f64(y, x, 0x1.30ae2423de262p+0);
    return y;
}

static inline double v_poly_k1_large_f64(double x) {
    double y = -0x1.915d20812138fp-26;
    y = v_fma_f64(y, x, 0x1.bdaf72565b764p-26);
    y = v_fma_f64(y, x, 0x1.5204f06d2dc64p-23);
    y = v_fma_f64(y, x, -0x1.661d59f98e913p-23);
    y = v_fma_f64(y, x, -0x1.0a86d9c1611b2p-21);
    y = v_fma_f64(y, x, 0x1.0dc75ca341a9p-21);
    y = v_fma_f64(y, x, 0x1.fdd1e811c5b28p-21);
    y = v_fma_f64(y, x, -0x1.ea91bd12397dfp-21);
    y = v_fma_f64(y, x, -0x1.4a9cf4a8eefdfp-20);
    y = v_fma_f64(y, x, 0x1.2dc77fddb58d1p-20);
    y = v_fma_f64(y, x, 0x1.2e09a8dbb925ap-20);
    y = v_fma_f64(y, x, -0x1.022f9d7bf4c6ap-20);
    y = v_fma_f64(y, x, -0x1.9d9bc98d135fdp-21);
    y = v_fma_f64(y, x, 0x1.5122e8dcd519cp-21);
    y = v_fma_f64(y, x, 0x1.6d018fc419c9dp-22);
    y = v_fma_f64(y, x, -0x1.d6a7c2ff8fd15p-23);
    y = v_fma_f64(y, x, -0x1.fc0ab94c04264p-23);
    y = v_fma_f64(y, x, 0x1.1e1ffbe16dcf1p-22);
    y = v_fma_f64(y, x, -0x1.253f1a255a18p-22);
    y = v_fma_f64(y, x, 0x1.22bc770998779p-21);
    y = v_fma_f64(y, x, -0x1.1c904d546e0fcp-20);
    y = v_fma_f64(y, x, 0x1.1068997a294cbp-19);
    y = v_fma_f64(y, x, -0x1.0e75150127b01p-18);
    y = v_fma_f64(y, x, 0x1.17ede4d9d3dfbp-17);
    y = v_fma_f64(y, x, -0x1.2f8c4cd603edbp-16);
    y = v_fma_f64(y, x, 0x1.5c524eb135e29p-15);
    y = v_fma_f64(y, x, -0x1.acf5ab4f1c99fp-14);
    y = v_fma_f64(y, x, 0x1.21729ca36915ap-12);
    y = v_fma_f64(y, x, -0x1.bab479adb00f5p-11);
    y = v_fma_f64(y, x, 0x1.97e59d89291c4p-9);
    y = v_fma_f64(y, x, -0x1.03bbb0fa2f58p-6);
    y = v_fma_f64(y, x, 0x1.80fb15bf9d15bp-3);
    y = v_fma_f64(y, x, 0x1.7628990a85c65p+0);
    return y;
}

static inline double v_poly_cos_f64(double x) {
    double y = 0x1.a1939a3490f62p-45;
    y = v_fma_f64(y, x, -0x1.937cd3aaf30dep-37);
    y = v_fma_f64(y, x, 0x1.1eed76b55db4cp-29);
    y = v_fma_f64(y, x, -0x1.27e4fb6005e6cp-22);
    y = v_fma_f64(y, x, 0x1.a01a01a001577p-16);
    y = v_fma_f64(y, x, -0x1.6c16c16c16b46p-10);
    y = v_fma_f64(y, x, 0x1.5555555555555p-5);
    return y;
}

static inline double v_poly_atan_f64(double x) {
    double y = -0x1.24faeebe4145dp-6;
    y = v_fma_f64(y, x, 0x1.379fab942f00dp-5);
    y = v_fma_f64(y, x, -0x1.9cbc15727ccdep-5);
    y = v_fma_f64(y, x, 0x1.df09e6224b769p-5);
    y = v_fma_f64(y, x, -0x1.10eb51ab0a43ep-4);
    y = v_fma_f64(y, x, 0x1.3b110f41a2c62p-4);
    y = v_fma_f64(y, x, -0x1.745cf83fa0bacp-4);
    y = v_fma_f64(y, x, 0x1.c71c70dfecc0fp-4);
    y = v_fma_f64(y, x, -0x1.249249229b3aap-3);
    y = v_fma_f64(y, x, 0x1.99999999954f1p-3);
    y = v_fma_f64(y, x, -0x1.555555555553bp-2);
    return y;
}

static inline double v_poly_asin_f64(double x) {
    double y = 0x1.0ac783d6adae8p-5;
    y = v_fma_f64(y, x, -0x1.5667f5d7e89f9p-6);
    y = v_fma_f64(y, x, 0x1.627f8e49975b1p-6);
    y = v_fma_f64(y, x, 0x1.e995aa73c1e92p-9);
    y = v_fma_f64(y, x, 0x1.60fff6c79989ap-7);
    y = v_fma_f64(y, x, 0x1.759020e3dc1f9p-7);
    y = v_fma_f64(y, x, 0x1.ca1e4bde6877bp-7);
    y = v_fma_f64(y, x, 0x1.1c49fd3095fecp-6);
    y = v_fma_f64(y, x, 0x1.6e8bde357e40ap-6);
    y = v_fma_f64(y, x, 0x1.f1c71a9a612bcp-6);
    y = v_fma_f64(y, x, 0x1.6db6db72067c3p-5);
    y = v_fma_f64(y, x, 0x1.333333332e1d7p-4);
    y = v_fma_f64(y, x, 0x1.5555555555577p-3);
    return y;
}

#define V_QUARTERS_0 0x1.45f306dc9c883p-1
#define V_QUARTERS_LOW_0 -0x1.6b01ec5417056p-55
#define V_ANGLE_1 0x1p+50
#define V_QUARTERS_1 0x1.b9391054a7f0ap-26
#define V_QUARTERS_LOW_1 -0x1.505c1596447e5p-81
#define V_ANGLE_2 0x1p+76
#define V_QUARTERS_2 0x1.529fc2757d1f5p-52
#define V_QUARTERS_LOW_2 0x1.a6ee06db14acdp-107
#define V_ANGLE_3 0x1p+102
#define V_QUARTERS_3 0x1.d5f47d4d37703p-78
#define V_QUARTERS_LOW_3 0x1.b6295993c439p-132
#define V_HALVES_0 0x1.45f306dc9c883p-2
#define V_HALVES_LOW_0 -0x1.6b01ec5417056p-56
#define V_LARGE_ANGLE_1 0x1p+51
#define V_HALVES_1 0x1.727220a94fe14p-28
#define V_HALVES_LOW_1 -0x1.505c1596447e5p-82
#define V_LARGE_ANGLE_2 0x1p+77
#define V_HALVES_2 0x1.4a7f09d5f47d5p-55
#define V_HALVES_LOW_2 -0x1.6447e493ad4cep-110
#define V_LARGE_ANGLE_3 0x1p+103
#define V_HALVES_3 0x1.abe8fa9a6ee07p-80
#define V_HALVES_LOW_3 -0x1.275a99b0ef1bfp-135
static const double v_quarters[] = {
    0x0p+0, 0x1.45f306dc9c88p-1, 0x1.529fc2757d1f5p-52, 0x1.a6ee06db14acdp-107,
    0x1.45fp+15, 0x1.836e4e441529ep+0, 0x1.c2757d1f534ddp-52, 0x1.81b6c52b32788p-105,
    0x1.45f306d8p+31, 0x1.27220a94fe13ap+1, 0x1.7d1f534ddc0dbp-52, 0x1.8a5664f10e41p-106,
    0x1.45f306dc9c88p+47, 0x1.529fc2757d1ep-4, 0x1.534ddc0db6295p-52, 0x1.3278872083fcap-105,
    0x1.e60db9391054ap+54, 0x1.fc2757d1f534cp+0, 0x1.dc0db6295993cp-52, 0x1.0e4107f9458ebp-106,
    0x1.b9391054a7f09p+54, 0x1.abe8fa9a6ee06p+1, 0x1.b6295993c439p-52, 0x1.07f9458eaf7afp-106,
    0x1.1054a7f09d5f4p+54, 0x1.f534ddc0db628p+0, 0x1.5993c439041fep-52, 0x1.458eaf7aef158p-106,
    0x1.4fe13abe8fa9ap+53, 0x1.bb81b6c52b324p-1, 0x1.c439041fe5163p-52, 0x1.57bd778ac36e5p-105,
    0x1.3abe8fa9a6eep+53, 0x1.b6c52b327887p-1, 0x1.041fe5163abdep-52, 0x1.778ac36e48dc7p-105,
    0x1.47d4d377036d8p+54, 0x1.4acc9e21c820fp+1, 0x1.e5163abdebbc5p-52, 0x1.86dc91b8e9093p-106,
    0x1.a6ee06db14accp+53, 0x1.3c439041fe516p+0, 0x1.d5ef5de2b0db8p-55, 0x1.2371d2126e97p-107,
    0x1.036d8a5664f1p+54, 0x1.c820ff28b1d5ep+1, 0x1.ebbc561b7246ep-52, 0x1.d2126e9700325p-107,
    0x1.8a5664f10e41p+54, 0x1.fe5163abdebbcp+0, 0x1.586dc91b8e908p-54, 0x1.374b801924bbbp-106,
    0x1.93c439041fe5p+52, 0x1.63abdebbc561ap+0, 0x1.7246e3a424dd2p-52, 0x1.c00c925dd413ap-105,
    0x1.0e4107f9458eap+54, 0x1.ef5de2b0db923p+1, 0x1.c74849ba5c00cp-53, 0x1.24bba82746487p-106,
    0x1.07f9458eaf7aep+54, 0x1.e2b0db92371d2p+1, 0x1.26e970032497p-55, 0x1.d413a32439fc4p-105,
    0x1.458eaf7aef158p+54, 0x1.b7246e3a424dcp+0, 0x1.2e006492eea09p-52, 0x1.a32439fc3bd64p-105,
    0x1.5ef5de2b0db92p+53, 0x1.b8e909374b8p-2, 0x1.924bba8274648p-54, 0x1.cfe1deb1cb12ap-108,
    0x1.de2b0db92371cp+53, 0x1.2126e97003249p+1, 0x1.dd413a32439fcp-53, 0x1.deb1cb129a73fp-108,
    0x1.86dc91b8e9093p+54, 0x1.d2e006492eeap+0, 0x1.3a32439fc3bd6p-53, 0x1.cb129a73ee882p-108,
    0x1.2371d2126e97p+53, 0x1.924bba82746p-6, 0x1.21cfe1deb1cb1p-52, 0x1.4d39f74411afbp-107,
    0x1.d2126e9700324p+53, 0x1.2eea09d1921cep+0, 0x1.e1deb1cb129a7p-52, 0x1.f74411afa975ep-107,
    0x1.374b801924bbap+54, 0x1.04e8c90e7f0efp+1, 0x1.63962534e7ddp-53, 0x1.046bea5d76891p-105,
    0x1.801924bba8274p+54, 0x1.921cfe1deb1cap+0, 0x1.129a73ee88235p-52, 0x1.ea5d768909d34p-105,
    0x1.24bba82746487p+54, 0x1.fc3bd63962534p-1, 0x1.cfba208d7d4b8p-54, 0x1.768909d338e05p-105,
    0x1.a827464873f87p+54, 0x1.eb1cb129a73eep+0, 0x1.1046bea5d7688p-53, 0x1.09d338e04d68cp-105,
    0x1.464873f877ac7p+54, 0x1.62534e7dd1044p-1, 0x1.5f52ebb4484e9p-52, 0x1.38e04d68befc8p-105,
    0x1.cfe1deb1cb128p+52, 0x1.a73ee88235f52p+0, 0x1.d768909d338ep-53, 0x1.35a2fbf209cc9p-107,
    0x1.deb1cb129a73cp+52, 0x1.74411afa975dap+1, 0x1.213a671c09adp-54, 0x1.7df904e64758ep-106,
    0x1.cb129a73ee88p+52, 0x1.1afa975da2427p+1, 0x1.338e04d68befcp-53, 0x1.04e64758e60d5p-106,
    0x1.4d39f74411afap+53, 0x1.2ebb4484e99c6p+0, 0x1.026b45f7e4139p-52, 0x1.23ac7306a673fp-105,
    0x1.f74411afa975cp+53, 0x1.a24274ce38135p+1, 0x1.45f7e413991d6p-52, 0x1.cc1a99cfa4e42p-107,
    0x1.1afa975da242p+49, 0x1.d338e04d68becp-1, 0x1.e413991d63983p-52, 0x1.4ce7d272117e3p-106,
    0x1.d4baed1213a67p+54, 0x1.c09ad17df9048p-2, 0x1.991d639835339p-52, 0x1.e93908bf177bfp-105,
    0x1.da24274ce3812p+53, 0x1.5a2fbf209cc8ep+1, 0x1.639835339f49cp-52, 0x1.08bf177bf2507p-105,
    0x1.3a671c09ad17p+50, 0x1.bf209cc8eb1ccp+1, 0x1.a99cfa4e422f8p-55, 0x1.177bf250763ffp-105,
    0x1.c7026b45f7e4p+52, 0x1.3991d63983532p+0, 0x1.9f49c845f8bbdp-52, 0x1.f250763ff13p-105,
    0x1.35a2fbf209cc8p+53, 0x1.d639835339f48p+0, 0x1.c845f8bbdf928p-52, 0x1.d8ffc4bffef03p-107,
    0x1.7df904e64758ep+54, 0x1.835339f49c844p+0, 0x1.f8bbdf9283b1fp-52, 0x1.f12fffbc0b302p-105,
    0x1.04e64758e60d4p+54, 0x1.9cfa4e422fc5dp+1, 0x1.df9283b1ff897p-52, 0x1.ffbc0b301fde6p-105,
    0x1.1d639835339f4p+52, 0x1.3908bf177bf24p-1, 0x1.0763ff12fffbcp-53, 0x1.6603fbcbc462dp-110,
    0x1.cc1a99cfa4e42p+53, 0x1.7e2ef7e4a0ecp-2, 0x1.ff897ffde0598p-52, 0x1.fde5e2316b415p-109,
    0x1.4ce7d272117e2p+54, 0x1.defc941d8ffc4p+1, 0x1.7ffde05980fefp-52, 0x1.788c5ad05369p-107,
    0x1.d272117e2ef7ep+54, 0x1.283b1ff897ffcp+0, 0x1.e05980fef2f11p-52, 0x1.16b414da3eda7p-105,
    0x1.17e2ef7e4a0ep+50, 0x1.8ffc4bffef02cp+1, 0x1.80fef2f118b5ap-52, 0x1.4da3eda6cfd9ep-109,
    0x1.77bf250763ffp+51, 0x1.2fffbc0b301fcp-1, 0x1.e5e2316b414dap-53, 0x1.f6d367ecf27cbp-108,
    0x1.e4a0ec7fe25ffp+54, 0x1.ef02cc07f7978p+1, 0x1.18b5a0a6d1f6dp-52, 0x1.b3f6793e584dcp-107,
    0x1.d8ffc4bffef02p+53, 0x1.980fef2f118b4p+0, 0x1.a0a6d1f6d367ep-52, 0x1.9e4f96136e9e9p-105,
    0x1.e25fff7816603p+54, 0x1.f79788c5ad053p+1, 0x1.a3eda6cfd9e4ep-53, 0x1.96136e9e8c7edp-105,
    0x1.ff7816603fbcbp+54, 0x1.88c5ad05368fbp+1, 0x1.a6cfd9e4f9612p-53, 0x1.6e9e8c7ecd3ccp-105,
    0x1.6603fbcbc462p+50, 0x1.ad05368fb69b3p+1, 0x1.ecf27cb09b74fp-52, 0x1.18fd9a797fa8bp-106,
    0x1.fde5e2316b41p+51, 0x1.368fb69b3f679p+1, 0x1.f2c26dd3d18fcp-54, 0x1.9a797fa8b5d4ap-106,
    0x1.788c5ad05368ep+53, 0x1.b69b3f6793e58p+1, 0x1.36e9e8c7ecd3cp-53, 0x1.7fa8b5d49eeb2p-106,
    0x1.6b414da3eda68p+51, 0x1.3f6793e584dbap+1, 0x1.e8c7ecd3cbfd4p-53, 0x1.6ba93dd63f5f3p-107,
    0x1.4da3eda6cfd98p+51, 0x1.93e584dba7a31p+1, 0x1.f669e5fea2d75p-52, 0x1.3dd63f5f2f8bep-107,
    0x1.f6d367ecf27c8p+52, 0x1.84dba7a31fb34p+1, 0x1.e5fea2d7527bap-52, 0x1.8fd7cbe2f67a1p-105,
    0x1.b3f6793e584dap+53, 0x1.a7a31fb34f2ffp+1, 0x1.45aea4f758fd6p-53, 0x1.cbe2f67a0e73fp-105,
    0x1.3c9f2c26dd3d1p+54, 0x1.1fb34f2ff516bp+1, 0x1.527bac7ebe5f1p-52, 0x1.ecf41ce7de295p-106,
    0x1.2c26dd3d18fd9p+54, 0x1.4f2ff516ba93dp+1, 0x1.ac7ebe5f17b3dp-52, 0x1.ce7de294a4baap-110,
    0x1.ba7a31fb34f2ep+53, 0x1.f516ba93dd63fp+1, 0x1.7cbe2f67a0e72p-53, 0x1.ef14a525d4d7fp-105,
    0x1.18fd9a797fa8bp+54, 0x1.7527bac7ebe5ep+0, 0x1.17b3d0739f78ap-52, 0x1.4a4ba9afed7ecp-106,
    0x1.9a797fa8b5d49p+54, 0x1.dd63f5f2f8bd9p+1, 0x1.d0739f78a5292p-52, 0x1.d4d7f6bf623f2p-105,
    0x1.7fa8b5d49eeb1p+54, 0x1.f5f2f8bd9e839p+1, 0x1.9f78a5292ea6bp-52, 0x1.f6bf623f1aba1p-105,
    0x1.6ba93dd63f5f2p+53, 0x1.f17b3d0739f78p+0, 0x1.4a525d4d7f6bep-53, 0x1.623f1aba10acp-105,
    0x1.3dd63f5f2f8bcp+53, 0x1.9e839cfbc5294p+1, 0x1.2ea6bfb5fb11fp-52, 0x1.1aba10ac06609p-105,
};
