/* The text form, read: what stands behind the key of a line.  */
#include "rprogram/reader.h"

static Status read_tile(Reader *r, int n, RTile *t) {
    for (int axis = 0; axis < RT_AXES; axis++) t->extent[axis] = 1;
    for (int axis = 0; axis < n; axis++) {
        int64_t v;
        Status s = reader_int(r, 1, 1 << 20, &v);
        if (s) return s;
        t->extent[axis] = (int32_t)v;
    }
    return ST_OK;
}

static bool more_words(const Reader *r) {
    DiagPlace at = r->at;
    return reader_word(&at).len > 0;
}

/* The words that may stand behind a unit; that of scales stays where it is, *scaled (0: none).  */
static Status read_order(Reader *r, bool *swapped, Word *scaled) {
    static const char *const word[] = {"swapped", "scaled"};
    Status s = ST_OK;
    *swapped = false;
    *scaled = (Word){0};
    while (!s && more_words(r)) {
        DiagPlace at = r->at;
        int which = 0;
        s = reader_name(r, word, 2, &which);
        if (which) *scaled = reader_word(&at);
        else *swapped = true;
    }
    return s;
}

/* The number of the word among n names of things that the device may have.  */
static Status read_name_of(Reader *r, const char *no_such, const char *const *names, int n,
                           int16_t *out) {
    Word w = reader_word(&r->at);
    for (int i = 0; i < n; i++) {
        if (!reader_is(w, names[i])) continue;
        *out = (int16_t)i;
        return ST_OK;
    }
    Status s = reader_fail(r, w.pos, no_such, w);
    reader_hint(r, names, n);
    return s;
}

static Status read_unit_name(Reader *r, int16_t *out) {
    const Device *dev = r->dev;
    const char **names = ARENA_ARRAY(r->arena, const char *, dev->n_unit);
    for (int i = 0; i < dev->n_unit; i++) names[i] = dev->unit[i].name;
    return read_name_of(r, "the device has no unit '%.*s'", names, dev->n_unit, out);
}

/* Elements and their scales apart, for a unit that knows scales, or where sums are scaled: `said`,
 * if the plan says so.  */
static Status take_scales(Reader *r, Word said) {
    Problem *p = &r->plan->problem[r->kernel], scaled;
    const char *why = NULL;
    if (rtile_as_scaled(r->arena, p, r->plan->align, &scaled, &why)) {
        *p = scaled;
        return ST_OK;
    }
    if (!said.len) return ST_OK;
    Status s = reader_fail(r, said.pos, "the sums of this kernel cannot be '%.*s'", said);
    diag_hint(r->diag, "%s", why ? why : "its terms have no scales of blocks");
    return s;
}

static Status read_unit(Reader *r, RProg *x) {
    Status s = read_unit_name(r, &x->unit);
    Word scaled = {0};
    if (!s && x->skeleton != SK_CHAIN) s = read_order(r, &x->swapped, &scaled);
    if (!s && (scaled.len || r->dev->unit[x->unit].scale_k > 0)) s = take_scales(r, scaled);
    if (s || x->skeleton != SK_CHAIN) return s;
    x->unit_v = x->unit;
    return more_words(r) ? read_unit_name(r, &x->unit_v) : ST_OK;
}

static Status read_store(Reader *r, RProg *x) {
    int64_t v = 0;
    int via = VIA_DIRECT;
    Status s = reader_int(r, 1, RTILE_ACCESS, &v);
    if (!s && more_words(r)) s = reader_name(r, rprog_via_name, 3, &via);
    x->store_vec = (uint8_t)v;
    x->via = (StoreVia)via;
    return s;
}

static Status read_mover(Reader *r, int16_t *out) {
    const Device *dev = r->dev;
    const char **names = ARENA_ARRAY(r->arena, const char *, dev->n_mover);
    for (int i = 0; i < dev->n_mover; i++) names[i] = dev->mover[i].name;
    return read_name_of(r, "the device has no mover '%.*s'", names, dev->n_mover, out);
}

static Status read_axis(Reader *r, int side, uint8_t *out) {
    const char *const axes[] = {side ? "n" : "m", "k"};
    int which;
    Status s = reader_name(r, axes, 2, &which);
    if (!s) *out = (uint8_t)(which ? AX_K : own_axis(side));
    return s;
}

/* [pad N] [swizzle BITS SHIFT BASE] [table]  */
static Status read_layout(Reader *r, RLayout *l, bool *table) {
    static const char *const options[] = {"pad", "swizzle", "table"};
    int which;
    int64_t v[3];
    Status s;
    for (size_t before = r->at.pos; reader_word(&r->at).len > 0; before = r->at.pos) {
        r->at.pos = before;
        if ((s = reader_name(r, options, table ? 3 : 2, &which))) return s;
        if (which == 2) {
            *table = true;
            continue;
        }
        if (which == 0) {
            if ((s = reader_int(r, 0, 4096, &v[0]))) return s;
            l->pad = (int16_t)v[0];
            continue;
        }
        for (int i = 0; i < 3; i++) {
            if ((s = reader_int(r, 0, 7, &v[i]))) return s;
        }
        l->bits = (uint8_t)v[0];
        l->shift = (uint8_t)v[1];
        l->base = (uint8_t)v[2];
    }
    return ST_OK;
}

/* N [pad N] [swizzle BITS SHIFT BASE]  */
static Status read_source(Reader *r, RLoad *l) {
    int64_t v = 0;
    Status s = reader_int(r, 1, RTILE_ACCESS, &v);
    l->vec = (uint8_t)v;
    return s ? s : read_layout(r, &l->layout, NULL);
}

/* KIND MOVER vec N region, or KIND MOVER vec N [bytes|raw|team WARPS|modulo N] along AXIS inner
 * AXIS, then the layout and [table]  */
static Status read_load(Reader *r, int side, RLoad *l) {
    static const char *const vec[] = {"vec"};
    enum { ALONG, REGION, BYTES, RAW, TEAM, MODULO, FORMS, WARPS = 4 };   /* that fill a ring */
    static const char *const forms[FORMS] = {"along", "region", "bytes", "raw", "team", "modulo"};
    static const char *const inner[] = {"inner"};
    int which;
    int64_t v;
    Status s = reader_name(r, rprog_load_name, LOAD_COUNT, &which);
    if (s) return s;
    l->kind = (LoadKind)which;
    if ((s = read_mover(r, &l->mover)) || (s = reader_name(r, vec, 1, &which))) return s;
    if ((s = reader_int(r, 1, RTILE_ACCESS, &v))) return s;
    l->vec = (uint8_t)v;
    if ((s = reader_name(r, forms, FORMS, &which))) return s;
    l->region = which == REGION;
    l->bytes = which == BYTES;
    l->raw = which == RAW;
    if (which == TEAM && (s = reader_int(r, 1, WARPS, &v))) return s;
    l->team = which == TEAM ? (uint8_t)v : 0;
    if (which == MODULO && (s = reader_int(r, 2, RTILE_ACCESS, &v))) return s;
    l->modulo = which == MODULO ? (uint8_t)v : 0;
    if (which != ALONG && which != REGION && (s = reader_name(r, forms, 1, &which))) return s;
    if (l->region && more_words(r)) {
        if ((s = reader_name(r, forms + TEAM, 1, &which)) || (s = reader_int(r, 1, WARPS, &v)))
            return s;
        l->team = (uint8_t)v;
    }
    if (l->region) {
        l->along = l->layout.inner = (uint8_t)own_axis(side);
        return ST_OK;
    }
    if ((s = read_axis(r, side, &l->along)) || (s = reader_name(r, inner, 1, &which))) return s;
    if ((s = read_axis(r, side, &l->layout.inner))) return s;
    return read_layout(r, &l->layout, &l->table);
}

static Status read_raster(Reader *r, RProg *x) {
    static const char *const words[] = {"cluster", "persistent", "pingpong"};
    int which;
    int64_t v = 0;
    Status s = reader_name(r, rprog_raster_name, 3, &which);
    if (!s && which == RASTER_GROUPED) s = reader_int(r, 1, INT16_MAX, &v);
    x->raster = (Raster)which;
    x->group = (int16_t)v;
    while (!s && more_words(r) && !(s = reader_name(r, words, 3, &which))) {
        if (which > 0) x->grid = (Grid)which;
        else if (!(s = reader_int(r, 2, UINT8_MAX, &v))) x->cluster = (uint8_t)v;
    }
    return s;
}

/* Is a contraction a stream of elements to such a program?  */
static bool as_stream(const SkeletonRow *of, const Problem *given) {
    Problem stream = *given;
    stream.contraction = false;
    return !of->products && of->takes(&stream) && !(of->takes(given) && rtile_reuses(given));
}

static Status read_skeleton(Reader *r, RProg *x) {
    int which;
    Status s = reader_name(r, rprog_skeleton_name, SK_COUNT, &which);
    Problem *p = &r->plan->problem[r->kernel], given = *p;
    if (s) return s;
    const SkeletonRow *of = rprog_skeleton((Skeleton)which);
    if (rtile_may_stream(&given) && as_stream(of, &given))
        rtile_as_stream(r->arena, &given, r->plan->align, p);
    if (!of->products) *x = rprog_base((Skeleton)which);
    x->skeleton = (Skeleton)which;
    return ST_OK;
}

static Status read_keep(Reader *r, RowKeep *out) {
    int which = 0;
    Status s = reader_name(r, rprog_keep_name, KEEP_COUNT, &which);
    *out = (RowKeep)which;
    return s;
}

/* [lanes N]  */
static Status read_lanes(Reader *r, RProg *x) {
    static const char *const lanes[] = {"lanes"};
    int which;
    int64_t v = 0;
    if (!more_words(r)) return ST_OK;
    Status s = reader_name(r, lanes, 1, &which);
    if (!s) s = reader_int(r, 1, 32, &v);
    x->lanes = (uint8_t)v;
    return s;
}

static Status read_stats(Reader *r, RProg *x) {
    int which = 0;
    Status s = reader_name(r, rprog_stats_name, STATS_COUNT, &which);
    x->stats = (RowStats)which;
    return s ? s : read_lanes(r, x);
}

/* N [overlap HOW]  */
static Status read_stages(Reader *r, RProg *x) {
    static const char *const overlap[] = {"overlap"};
    int which = 0;
    int64_t v;
    Status s = reader_int(r, 1, UINT8_MAX, &v);
    if (!s) x->stages = (uint8_t)v;
    if (s || !more_words(r)) return s;
    s = reader_name(r, overlap, 1, &which);
    if (!s) s = reader_name(r, rprog_overlap_name, OVERLAP_COUNT, &which);
    x->overlap = (Overlap)which;
    return s;
}

/* N [tail TILES blocks BLOCKS] or, of columns, N [lanes N]  */
static Status read_slices(Reader *r, RProg *x) {
    static const char *const tail[] = {"tail"}, *const blocks[] = {"blocks"};
    int which;
    int64_t v = 0, t = 0, u = 0;
    Status s = reader_int(r, 1, GRID_Y_MAX, &v);
    if (!s && rprog_skeleton(x->skeleton)->slices_meet) s = read_lanes(r, x);
    if (!s && more_words(r) && !(s = reader_name(r, tail, 1, &which)) &&
        !(s = reader_int(r, 1, INT32_MAX, &t)) && !(s = reader_name(r, blocks, 1, &which)))
        s = reader_int(r, 1, INT32_MAX, &u);
    x->split = (int32_t)v;
    x->tail = (int32_t)t;
    x->tail_blocks = (int32_t)u;
    return s;
}

Status reader_value(Reader *r, PlanKey key, RProg *x) {
    int64_t v = 0, w = 0;
    Status s = ST_OK;
    switch (key) {
    case KEY_SKELETON: return read_skeleton(r, x);
    case KEY_UNIT: return read_unit(r, x);
    case KEY_BLOCK: return read_tile(r, rprog_axes(x), &x->block);
    case KEY_WARP: return read_tile(r, rprog_axes(x), &x->warp);
    case KEY_THREAD: return read_tile(r, rprog_axes(x), &x->thread);
    case KEY_LOAD_A: return read_load(r, 0, &x->load[LOAD_A]);
    case KEY_LOAD_B: return read_load(r, 1, &x->load[LOAD_B]);
    case KEY_LOAD_V: return read_load(r, 1, &x->load[LOAD_V]);
    case KEY_RASTER: return read_raster(r, x);
    case KEY_VEC:
        if (!(s = reader_int(r, 1, 64, &v))) s = reader_int(r, 1, 64, &w);
        x->vec_m = (uint8_t)v;
        x->vec_n = (uint8_t)w;
        return s;
    case KEY_UNROLL:
        s = reader_int(r, 1, 4096, &v);
        x->unroll = (int16_t)v;
        return s;
    case KEY_STAGES: return read_stages(r, x);
    case KEY_BOX: return read_tile(r, r->plan->problem[r->kernel].permute.out.n_digit, &x->block);
    case KEY_THREADS:
        s = reader_int(r, 1, rprog_most_threads(r->dev), &v);
        x->threads = (int16_t)v;
        return s;
    case KEY_READ_A: return read_source(r, &x->load[0]);
    case KEY_READ_B: return read_source(r, &x->load[1]);
    case KEY_STORE: return read_store(r, x);
    case KEY_SPLIT: return read_slices(r, x);
    case KEY_STATS: return read_stats(r, x);
    case KEY_KEEP: return read_keep(r, &x->keep);
    case KEY_BLOCKS:
        s = reader_int(r, 1, 256, &v);
        x->blocks_per_sm = (int16_t)v;
        return s;
    case KEY_COUNT: break;
    }
    return s;
}
