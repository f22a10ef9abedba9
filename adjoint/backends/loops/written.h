/* The loops that are written rather than printed, by the names that adjoint.backends asks for. */
typedef struct {
    const char *name;
    const char *signature; /* NULL: element by element */
    int operands;
    int results;
    int kinds;
    PyUFuncGenericFunction functions[2];
    void *data[2];
    char types[24];
} Written;

#define OF_BOTH(name) {name##_f32, name##_f64}
#define TYPES2(own) {own(NPY_FLOAT), own(NPY_DOUBLE)}
#define TO_ITSELF(T) T, T
#define TO_PLACE(T) T, T, NPY_INT64
#define OF_TWO(T) T, T, T
#define AT_PLACES(T) T, NPY_INT64, T
#define INTO_PLACES(T) NPY_INT64, T, T
#define OF_ROWS_AT(T) T, NPY_INT64, T, T
#define OF_REGROUPED(T) T, NPY_INT64, NPY_INT64, T
#define OF_WINDOWS(T) T, NPY_INT32, T, NPY_INT64
#define OF_WINDOWS_APART(T) T, NPY_INT32, NPY_INT32, T, NPY_INT64
#define OF_POOLS(T) T, NPY_INT64, T
#define TO_RANK(T) T, NPY_INT64, NPY_INT64
#define OF_SPACED(T) T, T, T, T, NPY_BOOL
#define OF_PATHS(T) T, NPY_INT64, NPY_INT64, NPY_INT64, T
#define OF_PATHS_BACK(T) T, T, NPY_INT64, NPY_INT64, NPY_INT64, NPY_INT64, T, T, T
#define OF_PLACES(T) T, T, NPY_INT64, T
#define OF_PLACES_BACK(T) T, T, T, NPY_INT64, T, T
#define OF_CLASSES(T) T, NPY_INT64, T, T, T
#define FOUR(T) T, T, T, T
#define FIVE(T) T, T, T, T, T
#define SEVEN(T) T, T, T, T, T, T, T
#define ELEVEN(T) SEVEN(T), T, T, T, T
#define OF_DEGREE(T) T, T, NPY_DOUBLE, T
#define RUNS(name) {#name, "(n)->(n)", 1, 1, 2, OF_BOTH(name), {NULL}, TYPES2(TO_ITSELF)}
#define FINDS(name) {#name, "(n)->(n),(n)", 1, 2, 2, OF_BOTH(name), {NULL}, TYPES2(TO_PLACE)}
#define PLACES(name)                                                                               \
    {#name, "(k),(k)->(n)", 2, 1, 2, OF_BOTH(name), {NULL}, TYPES2(INTO_PLACES)}
#define TAKES(name)                                                                                \
    {#name, "(k),(k,w)->(m,w)", 2, 1, 2, OF_BOTH(name), {NULL}, TYPES2(INTO_PLACES)}
#define DEGREE(name) {#name, NULL, 2, 1, 2, OF_BOTH(name), {NULL}, TYPES2(OF_TWO)}
#define DEGREE_WITH(name) {#name, NULL, 3, 1, 2, OF_BOTH(name), {&unit, &unit}, TYPES2(OF_DEGREE)}

static char unit; /* its address says that a loop has the further property */

static Written written[] = {
    RUNS(running_sum),
    RUNS(running_product),
    RUNS(running_logaddexp),
    RUNS(turned),
    FINDS(running_greatest),
    FINDS(running_least),
    {"row_sums", "(n)->()", 1, 1, 2, OF_BOTH(row_sums), {NULL}, TYPES2(TO_ITSELF)},
    {"row_products", "(n)->()", 1, 1, 1, {row_products_f32}, {NULL}, {TO_ITSELF(NPY_FLOAT)}},
    {"row_differences", "(n)->()", 1, 1, 2, {row_differences_i64, row_differences_f32}, {NULL},
     {NPY_INT64, NPY_INT64, NPY_FLOAT, NPY_INT64}},
    {"column_sums", "(m,n)->(n)", 1, 1, 1, {column_sums_f32}, {NULL}, {TO_ITSELF(NPY_FLOAT)}},
    {"recurrence", "(n),(n)->(n)", 2, 1, 2, OF_BOTH(recurrence), {NULL}, TYPES2(OF_TWO)},
    {"picked", "(n),(k)->(k)", 2, 1, 2, OF_BOTH(picked), {NULL}, TYPES2(AT_PLACES)},
    PLACES(placed_add),
    PLACES(placed_multiply),
    PLACES(placed_maximum),
    PLACES(placed_minimum),
    PLACES(placed_last),
    TAKES(rows_add),
    TAKES(rows_multiply),
    TAKES(rows_maximum),
    TAKES(rows_minimum),
    {"triangle", "(n,n),(n,m)->(n,m)", 2, 1, 2, OF_BOTH(triangle), {NULL}, TYPES2(OF_TWO)},
    {"unit_triangle", "(n,n),(n,m)->(n,m)", 2, 1, 2, OF_BOTH(triangle), {&unit, &unit},
     TYPES2(OF_TWO)},
    {"symmetric", "(n,n)->(n,n),(n),()", 1, 3, 1, {symmetric_f32}, {NULL},
     {NPY_FLOAT, NPY_FLOAT, NPY_INT32, NPY_INT32}},
    {"pooled", "(h,w),(s)->(m,n)", 2, 1, 1, {pooled_f32}, {NULL}, {OF_POOLS(NPY_FLOAT)}},
    {"pooled_back", "(m,n),(s)->(h,w)", 2, 1, 1, {pooled_f32}, {&unit}, {OF_POOLS(NPY_FLOAT)}},
    {"ranked", "(n),()->()", 2, 1, 2, OF_BOTH(ranked), {NULL}, TYPES2(TO_RANK)},
    {"gated", "(n),(n)->(n)", 2, 1, 1, {gated_f32}, {NULL}, {OF_TWO(NPY_FLOAT)}},
    {"gated_back", "(n),(n),(n)->(n),(n)", 3, 2, 1, {gated_back_f32}, {NULL}, {FIVE(NPY_FLOAT)}},
    {"log_sums", "(n)->()", 1, 1, 1, {log_sums_f32}, {NULL}, {TO_ITSELF(NPY_FLOAT)}},
    {"spaced", "(n),(),(n)->(n),(n)", 3, 2, 1, {spaced_f32}, {NULL}, {OF_SPACED(NPY_FLOAT)}},
    {"above", "(n,n)->(p)", 1, 1, 2, {above_i32, above_i64}, {NULL},
     {NPY_INT32, NPY_INT32, NPY_INT64, NPY_INT64}},
    {"mirrored", "(p)->(n,n)", 1, 1, 2, {mirrored_i32, mirrored_i64}, {NULL},
     {NPY_INT32, NPY_INT32, NPY_INT64, NPY_INT64}},
    {"across", "(m,n)->(n,m)", 1, 1, 2, {across_i32, across_i64}, {NULL},
     {NPY_INT32, NPY_INT32, NPY_INT64, NPY_INT64}},
    {"runs", "(n)->(n),()", 1, 2, 1, {runs}, {NULL}, {NPY_INT64, NPY_INT64, NPY_INT64}},
    {"standard", "(n),(n),(n),()->(n),(),()", 4, 3, 2, OF_BOTH(standard), {NULL},
     TYPES2(SEVEN)},
    {"standard_back", "(r,n),(r,n),(n),(r),(r),(r),(r),()->(r,n),(n),(n)", 8, 3, 2,
     OF_BOTH(standard_back), {NULL}, TYPES2(ELEVEN)},
    {"class_losses", "(n),(),()->(),(n)", 3, 2, 2, OF_BOTH(class_losses), {NULL},
     TYPES2(OF_CLASSES)},
    {"standard_parts", "(c,n),(c),(c),()->(c,n),(),()", 4, 3, 2, OF_BOTH(standard_parts), {NULL},
     TYPES2(SEVEN)},
    {"standard_parts_back", "(c,n),(c,n),(c),(),(),(),(),()->(c,n),(c),(c)", 8, 3, 2,
     OF_BOTH(standard_parts_back), {NULL}, TYPES2(ELEVEN)},
    {"matched", "(m,n),(k),(n)->(k)", 3, 1, 2, OF_BOTH(matched), {NULL}, TYPES2(OF_ROWS_AT)},
    {"mixed", "(m,w),(k),(k)->(w)", 3, 1, 2, OF_BOTH(mixed), {NULL}, TYPES2(OF_ROWS_AT)},
    {"dealt", "(c,w),(c,k),(c,k)->(m,w)", 3, 1, 2, OF_BOTH(dealt), {NULL}, TYPES2(OF_ROWS_AT)},
    {"rows_regrouped", "(m,w),(k),(k)->(n,w)", 3, 1, 2, OF_BOTH(rows_regrouped), {NULL},
     TYPES2(OF_REGROUPED)},
    {"gaps", "(m,n),(p,n)->(m,p)", 2, 1, 2, OF_BOTH(gaps), {NULL}, TYPES2(OF_TWO)},
    {"paths", "(t,c),(s),(),()->(t,s)", 4, 1, 2, OF_BOTH(paths), {NULL}, TYPES2(OF_PATHS)},
    {"path_slopes", "(t,c),(t,s),(s),(),(),(),(),()->(t,c)", 8, 1, 2, OF_BOTH(path_slopes), {NULL},
     TYPES2(OF_PATHS_BACK)},
    {"sampled", "(c,p),(k,d),(s)->(c,k)", 3, 1, 2, OF_BOTH(sampled), {NULL}, TYPES2(OF_PLACES)},
    {"sampled_back", "(c,k),(c,p),(k,d),(s)->(c,p),(k,d)", 4, 2, 2, OF_BOTH(sampled_back), {NULL},
     TYPES2(OF_PLACES_BACK)},
    {"shifted_up", "(n),()->(n)", 2, 1, 1, {shifted_up}, {NULL}, {OF_TWO(NPY_INT64)}},
    {"shifted_down", "(n),()->(n)", 2, 1, 1, {shifted_down}, {NULL}, {OF_TWO(NPY_INT64)}},
    {"whole", NULL, 1, 1, 2, OF_BOTH(whole), {NULL},
     {NPY_FLOAT, NPY_INT64, NPY_DOUBLE, NPY_INT64}},
    {"double", NULL, 1, 1, 1, {double_f32}, {NULL}, {NPY_FLOAT, NPY_DOUBLE}},
    {"single", NULL, 1, 1, 1, {single_f64}, {NULL}, {NPY_DOUBLE, NPY_FLOAT}},
    {"counts", "(k)->(n)", 1, 1, 1, {counts}, {NULL}, {NPY_INT64, NPY_INT64}},
    {"zeta", NULL, 2, 1, 2, OF_BOTH(zeta), {NULL}, TYPES2(OF_TWO)},
    {"pieces", "(n),(r,k),()->(n)", 3, 1, 1, {pieces_f32}, {NULL}, {FOUR(NPY_FLOAT)}},
    {"gammainc", NULL, 2, 1, 1, {incomplete_gamma_f32}, {NULL}, {OF_TWO(NPY_FLOAT)}},
    {"gammaincc", NULL, 2, 1, 1, {incomplete_gamma_f32}, {&unit}, {OF_TWO(NPY_FLOAT)}},
    DEGREE(chebyshev_t),
    DEGREE(chebyshev_u),
    DEGREE(chebyshev_v),
    DEGREE(chebyshev_w),
    DEGREE(hermite_h),
    DEGREE(hermite_he),
    DEGREE(legendre),
    DEGREE_WITH(gegenbauer),
    DEGREE_WITH(laguerre),
#if defined(__GNUC__)
    {"windows", "(p),(w,k)->(w),(w)", 2, 2, 2, OF_BOTH(windows), {NULL}, TYPES2(OF_WINDOWS)},
    {"windows_apart", "(p),(w),(k)->(w),(w)", 3, 2, 2, OF_BOTH(windows), {&unit, &unit},
     TYPES2(OF_WINDOWS_APART)},
#endif
#if defined(VECTOR)
    {"laid", "(h,w),(),()->(m,n)", 3, 1, 1, {laid_f32}, {NULL},
     {NPY_FLOAT, NPY_INT64, NPY_INT64, NPY_FLOAT}},
    {"planes", "(p),(d),(k),(b,k,e),()->(d,f,h,w)", 5, 1, 1, {planes_f32}, {NULL},
     {NPY_FLOAT, NPY_INT64, NPY_INT64, NPY_FLOAT, NPY_INT64, NPY_FLOAT}},
    {"planes_back", "(s,p),(d),(k),(s,d,f,q)->(f,k)", 4, 1, 1, {planes_back_f32}, {NULL},
     {NPY_FLOAT, NPY_INT64, NPY_INT64, NPY_FLOAT, NPY_FLOAT}},
    {"fourier", "(n),(t),()->(t)", 3, 1, 1, {fourier_complex}, {NULL},
     {NPY_CFLOAT, NPY_CFLOAT, NPY_FLOAT, NPY_CFLOAT}},
    {"fourier_to_half", "(n),(t),()->(m)", 3, 1, 1, {fourier_to_half}, {NULL},
     {NPY_FLOAT, NPY_CFLOAT, NPY_FLOAT, NPY_CFLOAT}},
    {"fourier_to_real", "(m),(t),()->(t)", 3, 1, 1, {fourier_to_real}, {NULL},
     {NPY_CFLOAT, NPY_CFLOAT, NPY_FLOAT, NPY_FLOAT}},
#endif
#if defined(WIDEST)
    {"product", "(r,k),(q),(n),(),()->(r,n)", 5, 1, 1, {product_f32}, {NULL},
     {FIVE(NPY_FLOAT), NPY_FLOAT}},
#endif
#if defined(__F16C__)
    {"widened", NULL, 1, 1, 1, {widened}, {NULL}, {NPY_HALF, NPY_FLOAT}},
    {"narrowed", NULL, 1, 1, 1, {narrowed}, {NULL}, {NPY_FLOAT, NPY_HALF}},
#endif
};
