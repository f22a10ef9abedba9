/* Fourier transforms of rows, eight of them side by side: each row is a lane of all vectors.
 *
 * Elements of eight rows are turned into vectors of one place each, go through the stages of a
 * transform that leaves them in order (Stockham's), and are turned back. A table has the powers of
 * the first root of unity, or of its inverse; a length is a product of factors up to FACTOR.
 */
#if defined(VECTOR)
#define FACTOR 256
typedef struct {
    Lanes re, im;
} Wave;
typedef struct {
    float re, im;
} Root;

#define SPREAD _mm256_set1_ps
#define PLUS _mm256_add_ps
#define MINUS _mm256_sub_ps
#define TIMES _mm256_mul_ps
#define TIMES_PLUS _mm256_fmadd_ps

ALWAYS Wave wave_sum(Wave a, Wave b) {
    const Wave sum = {PLUS(a.re, b.re), PLUS(a.im, b.im)};
    return sum;
}

ALWAYS Wave wave_difference(Wave a, Wave b) {
    const Wave difference = {MINUS(a.re, b.re), MINUS(a.im, b.im)};
    return difference;
}

ALWAYS Wave wave_product(Wave a, Root w) {
    const Lanes re = SPREAD(w.re), im = SPREAD(w.im);
    const Wave product = {_mm256_fmsub_ps(a.re, re, TIMES(a.im, im)),
                          TIMES_PLUS(a.re, im, TIMES(a.im, re))};
    return product;
}

/* ---- rows and lanes ---- */

/* Eight rows of elements of one float, or of two: where each begins, and how far apart those are. */
typedef struct {
    char *rows[EIGHT];
    npy_intp step;
    int parts;    /* floats of an element */
    int adjacent; /* all rows have their elements side by side */
} Eight;

static Eight eight_rows(char *place, npy_intp next, npy_intp first, npy_intp count, npy_intp step,
                        int parts) {
    Eight made = {.step = step, .parts = parts};
    for (int i = 0; i < EIGHT; i++) { /* of fewer rows the last is repeated */
        made.rows[i] = place + (first + i < count ? first + i : count - 1) * next;
    }
    made.adjacent = next == 4 * parts && first + EIGHT <= count;
    return made;
}

#define FLOAT_OF(given, row, i)                                                                    \
    (float *)((given)->rows[row] + (i) / (given)->parts * (given)->step +                          \
              (i) % (given)->parts * 4)

/* The first n floats of eight rows as vectors. */
static void load_eight(const Eight *given, npy_intp n, Lanes *to) {
    npy_intp i = 0;
    if (given->step == 4 * given->parts) {
        for (; i + EIGHT <= n; i += EIGHT) {
            Lanes square[EIGHT];
            for (int row = 0; row < EIGHT; row++) square[row] = LOAD_EIGHT(given->rows[row] + i * 4);
            turn_square(square);
            memcpy(to + i, square, sizeof(square));
        }
    } else if (given->adjacent && given->parts == 1) {
        for (; i < n; i++) to[i] = LOAD_EIGHT(given->rows[0] + i * given->step);
    } else if (given->adjacent) {
        for (; i < n; i += 2) {
            const char *from = given->rows[0] + i / 2 * given->step;
            const Lanes low = LOAD_EIGHT(from), high = LOAD_EIGHT(from + 32);
            const Lanes a = _mm256_permute2f128_ps(low, high, 0x20);
            const Lanes b = _mm256_permute2f128_ps(low, high, 0x31);
            to[i] = _mm256_shuffle_ps(a, b, 0x88);
            to[i + 1] = _mm256_shuffle_ps(a, b, 0xdd);
        }
    }
    for (; i < n; i++) {
        for (int row = 0; row < EIGHT; row++) ((float *)(to + i))[row] = *FLOAT_OF(given, row, i);
    }
}

static void store_eight(const Eight *given, npy_intp n, const Lanes *from) {
    npy_intp i = 0;
    if (given->step == 4 * given->parts) {
        for (; i + EIGHT <= n; i += EIGHT) {
            Lanes square[EIGHT];
            memcpy(square, from + i, sizeof(square));
            turn_square(square);
            for (int row = 0; row < EIGHT; row++) STORE_EIGHT(given->rows[row] + i * 4, square[row]);
        }
    } else if (given->adjacent && given->parts == 1) {
        for (; i < n; i++) STORE_EIGHT(given->rows[0] + i * given->step, from[i]);
    } else if (given->adjacent) {
        for (; i < n; i += 2) {
            char *to = given->rows[0] + i / 2 * given->step;
            const Lanes a = _mm256_unpacklo_ps(from[i], from[i + 1]);
            const Lanes b = _mm256_unpackhi_ps(from[i], from[i + 1]);
            STORE_EIGHT(to, _mm256_permute2f128_ps(a, b, 0x20));
            STORE_EIGHT(to + 32, _mm256_permute2f128_ps(a, b, 0x31));
        }
    }
    for (; i < n; i++) {
        for (int row = 0; row < EIGHT; row++) {
            *FLOAT_OF(given, row, i) = ((const float *)(from + i))[row];
        }
    }
}

/* ---- stages ---- */

typedef struct {
    const Root *roots; /* of the length of the table */
    npy_intp each;     /* powers of it from one root of the transform to the next */
    npy_intp n;        /* of the transform */
} Roots;

#define ROOT(given, power) (given)->roots[(power) * (given)->each]

/* One stage by a factor p: `done` is the product of those before, `m` of those that remain. */
#define EACH_BUTTERFLY(from, to, p)                                                                \
    for (npy_intp a = 0; a < m; a++)                                                               \
        for (npy_intp q = 0; q < done; q++)

#define INPUT(r) from[q + done * (a + m * (r))]
#define OUTPUT(p, k, value)                                                                        \
    to[q + done * ((p) * a + (k))] =                                                               \
        a == 0 || (k) == 0 ? (value) : wave_product(value, ROOT(given, a * (k) * done))

static void stage_2(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m) {
    EACH_BUTTERFLY(from, to, 2) {
        const Wave x = INPUT(0), y = INPUT(1);
        OUTPUT(2, 0, wave_sum(x, y));
        OUTPUT(2, 1, wave_difference(x, y));
    }
}

static void stage_4(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m) {
    const Lanes side = SPREAD(ROOT(given, given->n / 4).im);
    EACH_BUTTERFLY(from, to, 4) {
        const Wave x = INPUT(0), y = INPUT(1), z = INPUT(2), w = INPUT(3);
        const Wave even = wave_sum(x, z), other = wave_difference(x, z);
        const Wave odd = wave_sum(y, w), turn = wave_difference(y, w);
        const Wave turned = {TIMES(side, turn.im), TIMES(side, turn.re)};
        const Wave one = {MINUS(other.re, turned.re), PLUS(other.im, turned.im)};
        const Wave three = {PLUS(other.re, turned.re), MINUS(other.im, turned.im)};
        OUTPUT(4, 0, wave_sum(even, odd));
        OUTPUT(4, 1, one);
        OUTPUT(4, 2, wave_difference(even, odd));
        OUTPUT(4, 3, three);
    }
}

/* By an odd factor: what lies at equal distances from the first is added, and subtracted. */
ALWAYS void stage_odd(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m,
                      const int p, const int abreast) {
    const int half = p / 2;
    float cosines[FACTOR], sines[FACTOR];
    Wave sums[FACTOR / 2], differences[FACTOR / 2];
    for (int i = 0; i < p; i++) {
        cosines[i] = ROOT(given, i * (given->n / p)).re;
        sines[i] = ROOT(given, i * (given->n / p)).im;
    }
    EACH_BUTTERFLY(from, to, p) {
        const Wave first = INPUT(0);
        Wave total = first;
        for (int j = 1; j <= half; j++) {
            const Wave x = INPUT(j), y = INPUT(p - j);
            sums[j - 1] = wave_sum(x, y);
            differences[j - 1] = wave_difference(x, y);
            total = wave_sum(total, sums[j - 1]);
        }
        OUTPUT(p, 0, total);
        for (int start = 1; start <= half; start += abreast) {
            Wave even[4], odd[4];
            int power[4];
            for (int i = 0; i < abreast; i++) {
                even[i] = first;
                odd[i].re = odd[i].im = _mm256_setzero_ps();
                power[i] = 0;
            }
            for (int j = 0; j < half; j++) {
                for (int i = 0; i < abreast; i++) { /* of the last ones some are not taken */
                    power[i] += start + i;
                    if (power[i] >= p) power[i] -= p;
                    const Lanes c = SPREAD(cosines[power[i]]), s = SPREAD(sines[power[i]]);
                    even[i].re = TIMES_PLUS(c, sums[j].re, even[i].re);
                    even[i].im = TIMES_PLUS(c, sums[j].im, even[i].im);
                    odd[i].re = TIMES_PLUS(s, differences[j].re, odd[i].re);
                    odd[i].im = TIMES_PLUS(s, differences[j].im, odd[i].im);
                }
            }
            for (int i = 0; i < abreast && start + i <= half; i++) {
                const Wave low = {MINUS(even[i].re, odd[i].im), PLUS(even[i].im, odd[i].re)};
                const Wave high = {PLUS(even[i].re, odd[i].im), MINUS(even[i].im, odd[i].re)};
                OUTPUT(p, start + i, low);
                OUTPUT(p, p - start - i, high);
            }
        }
    }
}

static void stage_3(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m) {
    stage_odd(given, from, to, done, m, 3, 1);
}

static void stage_5(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m) {
    stage_odd(given, from, to, done, m, 5, 2);
}

static void stage_7(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m) {
    stage_odd(given, from, to, done, m, 7, 3);
}

static void stage_p(const Roots *given, const Wave *from, Wave *to, npy_intp done, npy_intp m,
                    int p) {
    stage_odd(given, from, to, done, m, p, 4);
}

/* The transform of vectors, in one of two rooms: that which has it is answered. */
static Wave *transform(const Roots *given, Wave *from, Wave *to) {
    npy_intp done = 1, left = given->n;
    for (npy_intp p = 4; left > 1;) {
        if (left % p) {
            p = p == 4 ? 2 : p == 2 ? 3 : p + 2;
            continue;
        }
        left /= p;
        if (p == 4) stage_4(given, from, to, done, left);
        else if (p == 2) stage_2(given, from, to, done, left);
        else if (p == 3) stage_3(given, from, to, done, left);
        else if (p == 5) stage_5(given, from, to, done, left);
        else if (p == 7) stage_7(given, from, to, done, left);
        else stage_p(given, from, to, done, left, (int)p);
        done *= p;
        Wave *const next = from;
        from = to;
        to = next;
    }
    return from;
}

/* ---- rows ---- */

static void scale_lanes(Lanes *all, npy_intp n, float factor) {
    const Lanes by = SPREAD(factor);
    for (npy_intp i = 0; factor != 1 && i < n; i++) all[i] = TIMES(all[i], by);
}

/* Half of what real numbers become, of the transform of their pairs; n is the number of pairs. */
static void part_pairs(const Root *roots, const Wave *from, Wave *to, npy_intp n, float factor) {
    const Lanes by = SPREAD(factor / 2);
    for (npy_intp k = 0; k <= n; k++) {
        const Wave x = from[k == n ? 0 : k], y = from[k == 0 ? 0 : n - k];
        const Wave even = {PLUS(x.re, y.re), MINUS(x.im, y.im)};
        const Wave odd = {PLUS(x.im, y.im), MINUS(y.re, x.re)};
        const Wave turned = wave_product(odd, roots[k]);
        to[k].re = TIMES(PLUS(even.re, turned.re), by);
        to[k].im = TIMES(PLUS(even.im, turned.im), by);
    }
}

/* What becomes the pairs of real numbers, of half of their transform, whose ends are real. */
static void join_pairs(const Root *roots, const Wave *from, Wave *to, npy_intp n) {
    const Lanes zero = _mm256_setzero_ps();
    for (npy_intp k = 0; k < n; k++) {
        Wave x = from[k], y = from[n - k];
        if (k == 0) x.im = y.im = zero;
        const Wave even = {PLUS(x.re, y.re), MINUS(x.im, y.im)};
        const Wave odd = {PLUS(x.im, y.im), MINUS(y.re, x.re)};
        const Wave turned = wave_product(odd, roots[k]);
        to[k].re = MINUS(even.re, turned.re);
        to[k].im = MINUS(even.im, turned.im);
    }
}

static Wave *room_for(npy_intp n, void **whole) {
    *whole = malloc((size_t)n * sizeof(Wave) + sizeof(Lanes));
    if (*whole == NULL) no_memory();
    return (Wave *)(((npy_uintp)*whole + sizeof(Lanes) - 1) / sizeof(Lanes) * sizeof(Lanes));
}

/* What `fill` reads of eight rows, `transform` and `empty` make of it, for all of them. */
typedef enum { COMPLEX, TO_HALF, TO_REAL } Form;

ALWAYS void fourier(char **args, const npy_intp *dimensions, const npy_intp *steps,
                    const Form form) {
    const npy_intp count = dimensions[0], given = dimensions[1], n = dimensions[2];
    const npy_intp results = form == TO_HALF ? dimensions[3] : n;
    const npy_intp from_step = steps[4], to_step = steps[6];
    const int pairs = form != COMPLEX && n % 2 == 0, own = form == TO_HALF ? 1 : 2;
    const npy_intp half = n / 2 + 1, wanted = form == TO_REAL ? half : n;
    const npy_intp taken = given < wanted ? given : wanted, room = n + 2;
    void *whole;
    Wave *one = room_for(2 * room, &whole), *two = one + room;
    if (whole == NULL) return;
    for (npy_intp row = 0; row < count; row += EIGHT) {
        const npy_intp first = count - row >= EIGHT || count < EIGHT ? row : count - EIGHT;
        const Root *roots = (const Root *)ROW(1, first);
        const float factor = *(const float *)ROW(2, first);
        const Roots all = {roots, pairs ? 2 : 1, pairs ? n / 2 : n};
        const Eight in = eight_rows(args[0], steps[0], first, count, from_step, own);
        const Eight out = eight_rows(args[3], steps[3], first, count, to_step,
                                     form == TO_REAL ? 1 : 2);
        Lanes *read = (Lanes *)one;
        load_eight(&in, taken * own, read);
        memset(read + taken * own, 0, (size_t)((wanted - taken) * own) * sizeof(Lanes));
        Wave *found = one;
        if (form == COMPLEX) {
            found = transform(&all, one, two);
            scale_lanes((Lanes *)found, 2 * n, factor);
        } else if (form == TO_HALF) {
            if (pairs) {
                Wave *whole_pairs = transform(&all, one, two);
                found = whole_pairs == one ? two : one;
                part_pairs(roots, whole_pairs, found, n / 2, factor);
            } else {
                for (npy_intp k = 0; k < n; k++) {
                    two[k].re = read[k];
                    two[k].im = _mm256_setzero_ps();
                }
                found = transform(&all, two, one);
                scale_lanes((Lanes *)found, 2 * half, factor);
            }
            for (npy_intp k = half; k < results; k++) {
                found[k].re = found[n - k].re;
                found[k].im = MINUS(_mm256_setzero_ps(), found[n - k].im);
            }
        } else if (pairs) {
            join_pairs(roots, one, two, n / 2);
            found = transform(&all, two, one);
            scale_lanes((Lanes *)found, n, factor);
        } else {
            one[0].im = _mm256_setzero_ps();
            for (npy_intp k = half; k < n; k++) {
                one[k].re = one[n - k].re;
                one[k].im = MINUS(_mm256_setzero_ps(), one[n - k].im);
            }
            found = transform(&all, one, two);
            for (npy_intp k = 0; k < n; k++) ((Lanes *)found)[k] = found[k].re;
            scale_lanes((Lanes *)found, n, factor);
        }
        store_eight(&out, form == TO_REAL ? n : 2 * results, (const Lanes *)found);
    }
    free(whole);
    forget_exceptions();
}

static void fourier_complex(char **args, const npy_intp *dimensions, const npy_intp *steps,
                            void *data) {
    fourier(args, dimensions, steps, COMPLEX);
}

static void fourier_to_half(char **args, const npy_intp *dimensions, const npy_intp *steps,
                            void *data) {
    fourier(args, dimensions, steps, TO_HALF);
}

static void fourier_to_real(char **args, const npy_intp *dimensions, const npy_intp *steps,
                            void *data) {
    fourier(args, dimensions, steps, TO_REAL);
}
#endif
