/* Written by `python -m tools.polynomials`: change that. */

#define V_SMALLEST_NORMAL_f32 0x1p-126f
#define V_ROOT_HALF_f32 0x1.6a09e6p-1f
#define V_LOG2_E_f32 0x1.715476p+0f
#define V_LOG10_E_f32 0x1.bcb7b2p-2f
#define V_EXP_LOW_f32 -0x1.ap+6f
#define V_EXP_HIGH_f32 0x1.64p+6f
#define V_EXP2_LOW_f32 -0x1.2ep+7f
#define V_EXP2_HIGH_f32 0x1p+7f
#define V_EXPM1_LOW_f32 -0x1.4p+4f
#define V_TANH_HIGH_f32 0x1.4p+3f
#define V_ERF_HIGH_f32 0x1p+2f
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

#define V_SMALLEST_NORMAL_f64 0x1p-1022
#define V_ROOT_HALF_f64 0x1.6a09e667f3bcdp-1
#define V_LOG2_E_f64 0x1.71547652b82fep+0
#define V_LOG10_E_f64 0x1.bcb7b1526e50ep-2
#define V_EXP_LOW_f64 -0x1.75p+9
#define V_EXP_HIGH_f64 0x1.63p+9
#define V_EXP2_LOW_f64 -0x1.0dp+10
#define V_EXP2_HIGH_f64 0x1p+10
#define V_EXPM1_LOW_f64 -0x1.4p+5
#define V_TANH_HIGH_f64 0x1.4p+4
#define V_ERF_HIGH_f64 0x1.8p+2
#define V_LN2_HIGH_f64 0x1.62e42fefa4p-1
#define V_LN2_LOW_f64 -0x1.8432a1b0e2634p-43
#define V_LOG10_2_HIGH_f64 0x1.34413509f8p-2
#define V_LOG10_2_LOW_f64 -0x1.80433b83b532ap-44

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
