/* Tensor maps from the command line: over the array that --in or --alloc gives a parameter.  */
#include "cli/sim_args.h"
#include "sim/async/tensormap.h"
#include <stdlib.h>
#include <string.h>

static const char form[] = "write NAME=box=NxM[,swizzle=128][,type=tf32][,dims=NxM][,strides=BYTES]"
                           "[,steps=NxM][,fill=nan][,l2=128]";

/* As in the text of numpy's shapes, dimensions are written outermost first; in a map the innermost
 * is dimension 0.  */
typedef struct {
    uint64_t value[TM_RANK];
    int n;
} Sizes;

static bool sizes(const char *s, size_t len, Sizes *out) {
    const char *end = s + len;
    for (out->n = 0; s < end && out->n < TM_RANK; s++) {
        char *past;
        out->value[out->n++] = strtoull(s, &past, 10);
        if (past == s) return false;
        s = past;
        if (s >= end) return true;
        if (*s != 'x') return false;
    }
    return false;
}

/* Words and the values of their enumerations.  */
typedef struct {
    const char *word;
    int value;
} Word;
static const Word swizzles[] = {{"none", 0}, {"0", 0}, {"32", 1}, {"64", 2}, {"128", 3}, {NULL, 0}};
static const Word promotions[] = {{"none", 0}, {"64", 1}, {"128", 2}, {"256", 3}, {NULL, 0}};
static const Word fills[] = {{"zero", 0}, {"nan", 1}, {NULL, 0}};
static const Word types[] = {
    {"u8", TM_U8},     {"i8", TM_U8},     {"bool", TM_U8},   {"f8e4m3", TM_U8},
    {"f8e5m2", TM_U8}, {"i16", TM_U16},   {"u16", TM_U16},   {"i32", TM_S32},
    {"u32", TM_U32},   {"i64", TM_S64},   {"u64", TM_U64},   {"f16", TM_F16},
    {"bf16", TM_BF16}, {"f32", TM_F32},   {"tf32", TM_TF32}, {"f64", TM_F64},
    {NULL, 0}};

static bool word(const Word *list, const char *s, size_t len, int *out) {
    for (; list->word; list++) {
        if (strlen(list->word) != len || memcmp(list->word, s, len)) continue;
        *out = list->value;
        return true;
    }
    return false;
}

typedef struct {
    Sizes box, dims, strides, steps;
    int type, swizzle, promotion, fill;
} Written;

/* One KEY=VALUE.  */
static bool take(const char *s, size_t len, Written *w) {
    const char *equals = memchr(s, '=', len);
    if (!equals) return false;
    size_t key = (size_t)(equals - s), n = len - key - 1;
    const char *v = equals + 1;
#define IS(name) (key == strlen(name) && memcmp(s, name, key) == 0)
    if (IS("box")) return sizes(v, n, &w->box);
    if (IS("dims")) return sizes(v, n, &w->dims);
    if (IS("strides")) return sizes(v, n, &w->strides);
    if (IS("steps")) return sizes(v, n, &w->steps);
    if (IS("type")) return word(types, v, n, &w->type);
    if (IS("swizzle")) return word(swizzles, v, n, &w->swizzle);
    if (IS("l2")) return word(promotions, v, n, &w->promotion);
    if (IS("fill")) return word(fills, v, n, &w->fill);
#undef IS
    return false;
}

static bool read_text(const char *text, Written *w) {
    for (const char *s = text; *s;) {
        size_t len = strcspn(s, ",");
        if (!take(s, len, w)) return false;
        s += len + (s[len] != 0);
    }
    return true;
}

static const char *describe(const SimToolArg *x, const Written *w, TensorMap *m) {
    int rank = w->dims.n;
    if (w->box.n != rank) return "the box needs as many dimensions as the array";
    if (w->steps.n && w->steps.n != rank) return "the steps need as many dimensions as the array";
    if (w->strides.n && w->strides.n != rank - 1) {
        return "strides are those of all dimensions but the innermost";
    }
    *m = (TensorMap){.type = (TmType)w->type, .rank = rank, .address = x->at,
                        .swizzle = w->swizzle, .promotion = w->promotion, .fill = w->fill};
    uint64_t stride = (uint64_t)x->npy.itemsize;
    for (int i = 0; i < rank; i++) {
        int at = rank - 1 - i;
        m->dim[i] = w->dims.value[at];
        m->box[i] = (uint32_t)w->box.value[at];
        m->element_stride[i] = w->steps.n ? (uint32_t)w->steps.value[at] : 1;
        stride *= m->dim[i];
        if (i + 1 < rank) m->stride[i] = w->strides.n ? w->strides.value[at - 1] : stride;
    }
    return tensor_map_wrong(m);
}

Status simtool_map(Diag *d, const char *text, const SimToolArg *x, unsigned char out[128]) {
    Written w = {.type = -1};
    TensorMap map;
    w.dims.n = x->npy.rank;
    if (x->npy.rank > TM_RANK) w.dims.n = 0;
    for (int k = 0; k < w.dims.n; k++) w.dims.value[k] = (uint64_t)x->npy.shape[k];
    if (x->type) word(types, x->type, strlen(x->type), &w.type);
    if (!read_text(text, &w)) {
        diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "bad tensor map '%s'", text);
        diag_hint(d, "%s", form);
        return ST_USAGE;
    }
    const char *why = w.type < 0 ? "its type must be written (type=f16)" : describe(x, &w, &map);
    if (!why) {
        sim_tensormap_pack(&map, out);
        return ST_OK;
    }
    diag_error(d, ST_USAGE, NULL, DIAG_NOWHERE, "tensor map '%s': %s", x->name, why);
    diag_hint(d, "%s", form);
    return ST_USAGE;
}
