/* links: base */
#include "te_random_gen.h"

#include <string.h>

static const char *const dtype_name[CLASSES][DTYPES] = {
    {"f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2", "f6e3m2", "f6e2m3", "f4e2m1", "f8ue4m3",
     "f8ue8m0"},
    {"i32", "i64", "i16", "i8", "u8", "i32", "i64", "i16", "i8", "u8", "i32"},
    {"bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool"}};
static const char *const dtype_alias[CLASSES][DTYPES] = {
    {"float", "double", "half", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float6_e3m2fn",
     "float6_e2m3fn", "float4_e2m1fn", "f8ue4m3", "float8_e8m0fnu"},
    {"int32", "int64", "int16", "int8", "uint8", "int32", "int64", "int16", "int8", "uint8",
     "int32"},
    {"bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool", "bool"}};

/* Noise is decided apart from content, so that it changes nothing else.  */
bool gen_noise(const Gen *g, uint64_t kind, uint64_t n) {
    return g->style.noisy && hash64(&g->out.len, sizeof g->out.len, kind) % n == 0;
}

void gen_space(Gen *g) {
    static const char *const spaces[] = {" ", "\n  ", "\t", " # a comment ; } \"\n"};
    for (uint64_t i = 0; i < 4; i++)
        if (gen_noise(g, 3 + i, 6)) put(g, spaces[i]);
}

void gen_name(Gen *g, char kind, int i, const char *part) {
    const char *prefix = g->style.prefix ? g->style.prefix : "";
    if (kind == 'S' && i >= SIZES) buf_printf(&g->out, "%lld%s", (long long)g->high[i], part);
    else buf_printf(&g->out, "%s%c%d%s", prefix, kind, i, part);
    gen_space(g);
}

const char *gen_dtype(const Gen *g, Class cls, uint32_t pick) {
    return (g->style.noisy ? dtype_alias : dtype_name)[cls][pick % DTYPES];
}

const char *gen_cut(Gen *g, size_t from) {
    const char *text = arena_strdup(g->out.arena, buf_str(&g->out) + from);
    g->out.len = from;
    if (g->out.text) g->out.text[from] = '\0';
    return text;
}

/* ---- sizes and indices ---- */

bool gen_fixed(const Gen *g, int size) { return g->low[size] == g->high[size]; }

bool gen_split(const Gen *g, int size) {
    return g->style.split > 1 && gen_fixed(g, size) && g->high[size] % g->style.split == 0;
}

bool gen_split_axis(const Gen *g, const Axis *x) { return !x->from && gen_split(g, x->size); }

void gen_index_value(Gen *g, int k) {
    if (!gen_split_axis(g, &g->axis[k])) {
        gen_name(g, 'x', k, "");
        return;
    }
    put(g, "(");
    gen_name(g, 'x', k, "a");
    buf_printf(&g->out, "*%d+", g->style.split);
    gen_name(g, 'x', k, "b");
    put(g, ")");
}

void gen_index_item(Gen *g, int k) {
    bool two = gen_split_axis(g, &g->axis[k]);
    gen_name(g, 'x', k, two ? "a" : "");
    if (!two) return;
    put(g, ",");
    gen_name(g, 'x', k, "b");
}

int gen_order(const Gen *g, const Tensor *t, int d) {
    return t->role >= TEMPORARY && g->style.reversed ? t->rank - 1 - d : d;
}

int gen_add_axis(Gen *g, int size, bool where) {
    g->axis[g->n_axis] = (Axis){.size = size, .where = where};
    return g->n_axis++;
}

/* ---- reads ---- */

/* A subscript that is inside whatever the sizes are: an index over this size, a sum of indices over
 * its parts, or 0.  */
static void inside(Gen *g, int size) {
    int fit[MAX_AXES], n = 0;
    for (int i = 0; i < g->n_scope; i++)
        if (g->axis[g->scope[i]].size == size) fit[n++] = g->scope[i];
    if (n) {
        gen_index_value(g, fit[below(g, (uint32_t)n)]);
        return;
    }
    int outer = -1, inner = -1;
    for (int i = 0; size >= BASE_SIZES && size < SIZES && i < g->n_scope; i++) {
        if (g->axis[g->scope[i]].size == 0) outer = g->scope[i];
        if (g->axis[g->scope[i]].size == size - BASE_SIZES + 1) inner = g->scope[i];
    }
    if (outer < 0 || inner < 0 || (size == SIZES - 1 && (!gen_fixed(g, 0) || !gen_fixed(g, 2)))) {
        put(g, "0");
        return;
    }
    gen_index_value(g, outer);
    put(g, "*");
    if (size == BASE_SIZES) put(g, "2");
    else gen_name(g, 'S', 2, "");
    put(g, "+");
    gen_index_value(g, inner);
}

/* Steps of an index so wide that 32 bits may not hold them, from 0 or from one of them.  */
static void far_away(Gen *g) {
    static const int64_t step[] = {4294967296, 2147483648, 1073741824, 67108864, 107374183};
    bool back = chance(g, 3), from = chance(g, 2);
    int64_t by = step[below(g, sizeof step / sizeof *step)];
    put(g, back ? "-" : "+");
    gen_index_value(g, g->scope[below(g, (uint32_t)g->n_scope)]);
    buf_printf(&g->out, "*%lld", (long long)by);
    if (from) buf_printf(&g->out, "%+lld", (long long)((back ? by : -by) * (int)below(g, 4)));
}

/* A place that is inside because of the choice it makes, or as a number between bounds.  */
static void chosen(Gen *g, int size) {
    size_t from = g->out.len;
    inside(g, size);
    const char *at = gen_cut(g, from);
    switch (below(g, 4)) {
    case 0: buf_printf(&g->out, "((%s)==0?0:(%s)-1)", at, at); break;
    case 1: buf_printf(&g->out, "((%s)<1?%s:(%s)-1)", at, at, at); break;
    case 2:
        buf_printf(&g->out, "abs(");
        gen_name(g, 'S', size, "");
        buf_printf(&g->out, "-1-(%s))", at);
        break;
    default:
        put(g, gen_fixed(g, size) ? "i32(min(max(" : "i32(max(min(");
        gen_expr(g, REAL, 0);
        if (gen_fixed(g, size)) buf_printf(&g->out, ",0.0),%d.0))", (int)g->high[size] - 1);
        else put(g, ",0.0),0.0))");
    }
}

/* One dimension's place; `guarded` ones may be anywhere.  */
static const char *place(Gen *g, const Tensor *t, int d, bool guarded) {
    size_t from = g->out.len;
    uint32_t how = guarded ? below(g, 7) : 0;
    if (!guarded && chance(g, 16)) {
        chosen(g, t->dim[d]);
    } else if (how == 3) {
        gen_expr(g, INT, 1);
    } else if (how == 5) {                /* a condition chooses between places */
        put(g, "(");
        gen_expr(g, BOOLEAN, 1);
        put(g, "?");
        inside(g, t->dim[d]);
        put(g, ":");
        inside(g, t->dim[d]);
        buf_printf(&g->out, "-%d)", (int)below(g, 3));
    } else if (how == 4 && g->n_scope) {
        gen_index_value(g, g->scope[below(g, (uint32_t)g->n_scope)]);
        if (chance(g, 2)) put(g, "-"), gen_name(g, 'S', (int)below(g, SIZES), "");
    } else {
        inside(g, t->dim[d]);
        if (how == 1) buf_printf(&g->out, "-%d", (int)below(g, 3));
        if (how == 6 && g->n_scope) far_away(g);
        if (how == 2 && g->n_scope) {
            put(g, "+");
            gen_index_value(g, g->scope[below(g, (uint32_t)g->n_scope)]);
            buf_printf(&g->out, "-%d", (int)below(g, 3));
        }
    }
    return gen_cut(g, from);
}

/* The element at these places, each in as many subscripts as its dimension has parts.  */
static void element(Gen *g, int tensor, const char *const *at) {
    const Tensor *t = &g->tensor[tensor];
    gen_name(g, 'T', tensor, "");
    put(g, "[");
    for (int i = 0; i < t->rank; i++) {
        int d = gen_order(g, t, i);
        if (i) put(g, ",");
        if (t->role < TEMPORARY || !gen_split(g, t->dim[d])) put(g, at[d]);
        else buf_printf(&g->out, "(%s)/%d,(%s)%%%d", at[d], g->style.split, at[d], g->style.split);
    }
    put(g, "]");
}

/* A read under conditions, most of which keep it inside; where they do not, it is 0.  */
static void conditional(Gen *g, int tensor, const char *const *at, int depth) {
    const Tensor *t = &g->tensor[tensor];
    bool both = !chance(g, 4), turned = chance(g, 3);
    put(g, turned ? "(!(" : "((");
    for (int d = 0; d < t->rank; d++) {
        if (d) put(g, "&&");
        if (both) buf_printf(&g->out, "0<=(%s)&&", at[d]);
        buf_printf(&g->out, "(%s)<", at[d]);
        gen_name(g, 'S', t->dim[d], "");
    }
    put(g, ")?");
    size_t from = g->out.len;
    gen_expr(g, t->cls, depth > 1 ? 1 : 0);
    const char *other = gen_cut(g, from);
    if (turned) buf_printf(&g->out, "%s:", other);
    element(g, tensor, at);
    if (!turned) buf_printf(&g->out, ":%s", other);
    put(g, ")");
}

void gen_read(Gen *g, int tensor, bool guarded, int depth) {
    const Tensor *t = &g->tensor[tensor];
    g->wide |= t->dtype == 1;
    if (t->role == SCALAR) {
        gen_name(g, 'T', tensor, "");
        return;
    }
    guarded = guarded && t->rank;
    const char *at[MAX_RANK];
    for (int d = 0; d < t->rank; d++) at[d] = place(g, t, d, guarded);
    if (guarded && chance(g, 2)) {
        conditional(g, tensor, at, depth);
        return;
    }
    if (guarded) put(g, "(");
    element(g, tensor, at);
    if (!guarded) return;
    put(g, " else ");
    gen_expr(g, t->cls, depth > 1 ? 1 : 0);
    put(g, ")");
}

bool gen_joined(Gen *g, Class cls, uint32_t type) {
    int n = g->n_scope < MAX_RANK ? g->n_scope : MAX_RANK;
    if (n == 0 || cls == BOOLEAN || g->n_input + 2 > MAX_INPUTS) return false;
    int shift = (int)below(g, (uint32_t)n), along = (int)below(g, (uint32_t)n);
    int size = (int)below(g, SIZES);
    Tensor x = {.role = INPUT, .cls = cls, .dtype = type, .rank = n};
    const char *at[MAX_RANK];
    int64_t others = 1;
    size_t from = g->out.len;
    for (int d = 0; d < n; d++) {
        int axis = g->scope[g->n_scope - n + (d + shift) % n];
        x.dim[d] = g->axis[axis].size;
        others *= d == along ? 1 : g->high[x.dim[d]];
        gen_index_value(g, axis);
        at[d] = gen_cut(g, from);
    }
    Tensor y = x;
    x.dim[along] = size;
    int64_t most = gen_elements(g);
    if (others * g->high[size] > most || others * g->high[y.dim[along]] > most) return false;
    g->wide |= type == 1;
    g->n_input += 2;
    g->tensor[g->n_tensor++] = x;
    g->tensor[g->n_tensor++] = y;
    gen_name(g, 'S', size, "");
    const char *length = gen_cut(g, from);
    buf_printf(&g->out, "(%s<%s?", at[along], length);
    element(g, g->n_tensor - 2, at);
    put(g, ":");
    at[along] = arena_printf(g->out.arena, "%s-%s", at[along], length);
    element(g, g->n_tensor - 1, at);
    put(g, ")");
    return true;
}

int gen_new_input(Gen *g, Class cls, uint32_t type, unsigned must) {
    Tensor t = {.role = INPUT, .cls = cls, .dtype = type};
    int64_t count = 1;
    for (int i = 0; i < g->n_scope && t.rank < MAX_RANK; i++) {
        int size = g->axis[g->scope[i]].size;
        if (!(must >> i & 1) && (chance(g, 3) || count * g->high[size] > gen_elements(g))) continue;
        count *= g->high[size];
        int at = t.rank - (int)below(g, (uint32_t)t.rank + 1);
        memmove(t.dim + at + 1, t.dim + at, (size_t)(t.rank++ - at) * sizeof *t.dim);
        t.dim[at] = size;
    }
    if (t.rank == 0 && cls != BOOLEAN && chance(g, 2)) {
        t.role = SCALAR;
        t.dtype %= 2;
    } else if (t.rank == 0) {
        t.rank = chance(g, 2) ? 0 : 1;
    }
    if (t.rank == 2 && chance(g, 10)) t.strides = 1 + below(g, 3);
    if (!gen_fixed(g, t.dim[0]) || !gen_fixed(g, t.dim[1])) t.strides = 0;
    g->n_input++;
    g->tensor[g->n_tensor] = t;
    return g->n_tensor++;
}

static bool has_blocks(const Tensor *t) {
    bool any = false;
    for (int d = 0; d < t->rank; d++) any |= t->block[d] > 1;
    return any;
}

static bool some_read(Gen *g, Class cls, int depth) {
    int fit[MAX_TENSORS], n = 0;
    for (int i = g->n_tensor - 1; i >= 0; i--)
        if (g->tensor[i].cls == cls && !has_blocks(&g->tensor[i])) fit[n++] = i;
    bool add = g->n_input < MAX_INPUTS;
    if (!n && !add) return false;
    if (add && chance(g, 10) && gen_joined(g, cls, below(g, DTYPES))) return true;
    uint32_t pick = below(g, (uint32_t)(n + add));
    int t = pick < (uint32_t)n ? fit[pick] : gen_new_input(g, cls, below(g, DTYPES), 0);
    gen_read(g, t, chance(g, 4), depth);
    return true;
}

/* ---- expressions ---- */

static void literal(Gen *g, Class cls) {
    static const char *const reals[] = {"1.0", "3.0", "0.0", "0.5", "7.0", "(-0.0)", "0.1", "1e-3",
                                        "225.0"};
    if (cls == REAL)
        put(g, reals[below(g, g->limits.exact ? 6 : 9)]);
    else if (cls == INT)
        buf_printf(&g->out, "%d", (int)below(g, g->limits.exact ? 8 : 100));
    else
        put(g, chance(g, 2) ? "true" : "false");
    gen_space(g);
}

static void leaf(Gen *g, Class cls) {
    if (cls == INT && g->n_scope && chance(g, 3))
        gen_index_value(g, g->scope[below(g, (uint32_t)g->n_scope)]);
    else if (cls == INT && chance(g, 5))
        gen_name(g, 'S', (int)below(g, SIZES), "");
    else if (chance(g, 5) || !some_read(g, cls, 0))
        literal(g, cls);
}

static void binary(Gen *g, Class cls, const char *op, int depth) {
    size_t from = g->out.len;
    gen_expr(g, cls, depth - 1);
    const char *x = gen_cut(g, from);
    gen_expr(g, cls, depth - 1);
    const char *y = gen_cut(g, from);
    bool swap = g->style.swapped && (*op == '+' || *op == '*');
    put(g, "(");
    put(g, swap ? y : x);
    gen_space(g);
    put(g, op);
    gen_space(g);
    put(g, swap ? x : y);
    put(g, ")");
}

static void call(Gen *g, const char *f, Class cls, int args, int depth) {
    buf_printf(&g->out, "%s(", f);
    for (int i = 0; i < args; i++) {
        if (i) put(g, ",");
        gen_expr(g, cls, depth - 1);
    }
    put(g, ")");
}

int gen_size(Gen *g) {
    if (!g->limits.products) return (int)below(g, SIZES);
    unsigned taken = 0;
    for (int k = 0; k < g->n_axis; k++) taken |= 1U << g->axis[k].size;
    int size = (int)below(g, BASE_SIZES);
    for (int i = 0; i < BASE_SIZES && taken >> size & 1; i++) size = (size + 1) % BASE_SIZES;
    return size;
}

int gen_number(const Gen *g, int64_t n) {
    for (int i = SIZES; i < SIZES + NUMBERS; i++)
        if (g->high[i] == n) return i;
    return -1;
}

int gen_axis_over(Gen *g, int size) {
    if (g->n_axis == MAX_AXES || g->work * g->high[size] > gen_work(g)) return -1;
    int k = gen_add_axis(g, size, true);
    g->work *= g->high[size];
    g->scope[g->n_scope++] = k;
    return k;
}

int gen_reduction_axis(Gen *g, bool whole) {
    if (g->n_axis == MAX_AXES) return -1;
    int k = gen_axis_over(g, gen_size(g));
    if (k >= 0 && !whole && chance(g, 6)) g->axis[k].from = 1;
    return k;
}

void gen_leave_axis(Gen *g, int k) {
    g->work /= g->high[g->axis[k].size];
    g->n_scope--;
}

static void reduction(Gen *g, Class cls, int depth) {
    static const char *const redop[] = {"sum", "max", "min", "prod", "argmax", "argmin"};
    static const char *const bools[] = {"any", "all"};
    uint32_t op = cls == BOOLEAN ? below(g, 2) : below(g, cls == INT ? 6 : g->limits.exact ? 3 : 4);
    bool position = cls == INT && op > 3;
    if (!position && chance(g, 16)) {     /* of one value */
        buf_printf(&g->out, "%s[](", cls == BOOLEAN ? bools[op] : redop[op]);
        gen_expr(g, cls, depth - 1);
        put(g, ")");
        return;
    }
    int k = gen_reduction_axis(g, position), l = -1;
    if (k >= 0 && chance(g, 4)) l = gen_reduction_axis(g, position);
    if (k < 0) {
        leaf(g, cls);
        return;
    }
    g->wide = true;
    put(g, cls == BOOLEAN ? bools[op] : redop[op]);
    put(g, "[");
    gen_index_item(g, k);
    if (l >= 0) put(g, ","), gen_index_item(g, l);
    put(g, "](");
    gen_expr(g, position && chance(g, 2) ? REAL : cls, depth - 1);
    put(g, ")");
    if (l >= 0) gen_leave_axis(g, l);
    gen_leave_axis(g, k);
}

static void boolean(Gen *g, int depth) {
    static const char *const cmp[] = {"<", "<=", ">", ">=", "==", "!="};
    switch (below(g, 4)) {
    case 0: binary(g, BOOLEAN, chance(g, 2) ? "&&" : "||", depth); break;
    case 1: put(g, "!"); gen_expr(g, BOOLEAN, depth - 1); break;
    default: binary(g, chance(g, 2) ? REAL : INT, cmp[below(g, 6)], depth);
    }
}

static void select(Gen *g, Class cls, int depth) {
    put(g, "(");
    gen_expr(g, BOOLEAN, depth - 1);
    put(g, "?");
    gen_expr(g, cls, depth - 1);
    put(g, ":");
    gen_expr(g, cls, depth - 1);
    put(g, ")");
}

static void bitwise(Gen *g, int depth) {
    static const char *const ops[] = {"&", "|", "^", "<<", ">>"};
    if (chance(g, 6)) {
        put(g, "~");
        gen_expr(g, INT, depth - 1);
    } else {
        /* What is shifted up leaves the range in which sums of integers are exact.  */
        int n = g->limits.exact ? 3 : 5;
        binary(g, INT, ops[below(g, (uint32_t)n)], depth);
    }
}

static void number(Gen *g, Class cls, uint32_t what, int depth) {
    static const char *const arithmetic[] = {"+", "*", "-", "/"};
    static const char *const functions[] = {"abs",  "floor", "ceil", "round", "exp",
                                            "sqrt", "tanh",  "cos",  "exp2",  "log",
                                            "log2", "sin",   "rsqrt", "erf"};
    if (what == 4) {
        call(g, chance(g, 2) ? "max" : "min", cls, 2 + (int)below(g, 2), depth);
    } else if (what == 5) {
        Class from = (Class)below(g, CLASSES);
        call(g, gen_dtype(g, cls, below(g, DTYPES)), from, 1, depth);
    } else if (what == 6) {
        put(g, "-");
        gen_expr(g, cls, depth - 1);
    } else if (what == 7 && cls == REAL) {
        call(g, functions[below(g, g->limits.exact ? 4 : 14)], REAL, 1, depth);
    } else if (what == 7 && !g->limits.exact && chance(g, 8)) {
        call(g, "philox", INT, 2, depth);
    } else if (what == 7) {
        call(g, "abs", INT, 1, depth);
    } else if (cls == REAL && !g->limits.exact && chance(g, 20)) {
        call(g, "pow", REAL, 2, depth);
    } else if (cls == INT && chance(g, 6)) {
        binary(g, cls, "%", depth);
    } else if (cls == INT && chance(g, 4)) {
        bitwise(g, depth);
    } else {
        uint32_t most = cls == REAL && g->limits.exact ? 3 : 4;
        binary(g, cls, arithmetic[below(g, most)], depth);
    }
}

void gen_expr(Gen *g, Class cls, int depth) {
    bool parens = gen_noise(g, 2, 4);
    if (parens) put(g, "(");
    uint32_t what = depth > 0 ? below(g, 12) : 0;
    if (what < 2) leaf(g, cls);
    else if (what == 2) select(g, cls, depth);
    else if (what == 3) reduction(g, cls, depth);
    else if (cls == BOOLEAN) boolean(g, depth);
    else number(g, cls, what, depth);
    if (parens) put(g, ")");
}
