/* The text form, read: one line, one key; words are separated by blanks; `#` begins a comment.  */
#include "rprogram/internal.h"

#include <string.h>

typedef struct {
    const char *text;
    size_t len, pos;          /* pos: byte offset in the file */
} Word;

typedef struct {
    Arena *arena;
    Diag *diag;
    DiagPlace at;             /* the whole text; pos is where reading goes on */
    const Device *dev;
    RPlan *plan;
    int kernel;               /* the section being read; -1 before the first */
    size_t kernel_pos;
    uint32_t seen;            /* bit i: key i of the section was read */
} Reader;

static Status fail(Reader *r, size_t pos, const char *message, Word w) {
    DiagPlace at = r->at;
    at.pos = pos;
    int shown = w.len < 40 ? (int)w.len : 40;
    return diag_error(r->diag, ST_PLAN_TEXT, "plan", at, message, shown, w.text ? w.text : "");
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next word of the line; length 0 at its end.  */
static Word next_word(Reader *r) {
    size_t i = r->at.pos, n = r->at.len;
    const char *text = r->at.text;
    while (i < n && is_blank(text[i])) i++;
    size_t start = i;
    while (i < n && !is_blank(text[i]) && text[i] != '\n' && text[i] != '#') i++;
    r->at.pos = i;
    return (Word){text + start, i - start, start};
}

static bool is_word(Word w, const char *s) {
    return w.len == strlen(s) && memcmp(w.text, s, w.len) == 0;
}

static Status read_int(Reader *r, int64_t lo, int64_t hi, int64_t *out) {
    Word w = next_word(r);
    int64_t v = 0;
    if (w.len == 0) return fail(r, w.pos, "a number is missing%.*s", w);
    for (size_t i = 0; i < w.len; i++) {
        if (w.text[i] < '0' || w.text[i] > '9') {
            return fail(r, w.pos, "expected a number, got '%.*s'", w);
        }
        v = v * 10 + (w.text[i] - '0');
        if (v > hi) break;
    }
    if (v < lo || v > hi) {
        Status s = fail(r, w.pos, "%.*s is out of range", w);
        diag_hint(r->diag, "it can be %lld to %lld", (long long)lo, (long long)hi);
        return s;
    }
    *out = v;
    return ST_OK;
}

/* One of n names; its position goes to *out.  */
static Status read_name(Reader *r, const char *const *names, int n, int *out) {
    Word w = next_word(r);
    for (int i = 0; i < n; i++) {
        if (is_word(w, names[i])) {
            *out = i;
            return ST_OK;
        }
    }
    Status s = fail(r, w.pos, w.len ? "unknown word '%.*s'" : "a word is missing%.*s", w);
    Buf list = buf_new(r->diag->arena);
    for (int i = 0; i < n; i++) {
        buf_puts(&list, i ? ", " : "");
        buf_puts(&list, names[i]);
    }
    diag_hint(r->diag, "one of: %s", buf_str(&list));
    return s;
}

static Status read_tile(Reader *r, int n, RTile *t) {
    for (int axis = 0; axis < RT_AXES; axis++) t->extent[axis] = 1;
    for (int axis = 0; axis < n; axis++) {
        int64_t v;
        Status s = read_int(r, 1, 1 << 20, &v);
        if (s) return s;
        t->extent[axis] = (int32_t)v;
    }
    return ST_OK;
}

/* Is `word` what is left of the line?  */
static Status read_last(Reader *r, const char *word, bool *out) {
    size_t before = r->at.pos;
    int which;
    *out = false;
    if (next_word(r).len == 0) return ST_OK;
    r->at.pos = before;
    Status s = read_name(r, &word, 1, &which);
    *out = !s;
    return s;
}

static Status read_unit(Reader *r, RProg *x) {
    Word w = next_word(r);
    for (int i = 0; i < r->dev->n_unit; i++) {
        if (!is_word(w, r->dev->unit[i].name)) continue;
        x->unit = (int16_t)i;
        return read_last(r, "swapped", &x->swapped);
    }
    return fail(r, w.pos, "the device has no unit '%.*s'", w);
}

static Status read_store(Reader *r, RProg *x) {
    int64_t v = 0;
    bool shared = false;
    Status s = read_int(r, 1, PIECE_MAX, &v);
    if (!s) s = read_last(r, "shared", &shared);
    x->store_vec = (uint8_t)v;
    x->via = shared ? VIA_SHARED : VIA_DIRECT;
    return s;
}

static Status read_mover(Reader *r, int16_t *out) {
    Word w = next_word(r);
    for (int i = 0; i < r->dev->n_mover; i++) {
        if (is_word(w, r->dev->mover[i].name)) {
            *out = (int16_t)i;
            return ST_OK;
        }
    }
    return fail(r, w.pos, "the device has no mover '%.*s'", w);
}

static Status read_axis(Reader *r, int side, uint8_t *out) {
    const char *const axes[] = {side ? "n" : "m", "k"};
    int which;
    Status s = read_name(r, axes, 2, &which);
    if (!s) *out = (uint8_t)(which ? AX_K : own_axis(side));
    return s;
}

/* [pad N] [swizzle BITS SHIFT BASE]  */
static Status read_layout(Reader *r, RLayout *l) {
    static const char *const options[] = {"pad", "swizzle"};
    int which;
    int64_t v[3];
    Status s;
    for (size_t before = r->at.pos; next_word(r).len > 0; before = r->at.pos) {
        r->at.pos = before;
        if ((s = read_name(r, options, 2, &which))) return s;
        if (which == 0) {
            if ((s = read_int(r, 0, 4096, &v[0]))) return s;
            l->pad = (int16_t)v[0];
            continue;
        }
        for (int i = 0; i < 3; i++) {
            if ((s = read_int(r, 0, 7, &v[i]))) return s;
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
    Status s = read_int(r, 1, PIECE_MAX, &v);
    l->vec = (uint8_t)v;
    return s ? s : read_layout(r, &l->layout);
}

/* KIND MOVER vec N region, or KIND MOVER vec N along AXIS inner AXIS, then the layout  */
static Status read_load(Reader *r, int side, RLoad *l) {
    static const char *const kinds[] = {"staged", "async"}, *const vec[] = {"vec"};
    static const char *const forms[] = {"along", "region"}, *const inner[] = {"inner"};
    int which;
    int64_t v;
    Status s = read_name(r, kinds, 2, &which);
    if (s) return s;
    l->kind = which ? LOAD_ASYNC : LOAD_STAGED;
    if ((s = read_mover(r, &l->mover)) || (s = read_name(r, vec, 1, &which))) return s;
    if ((s = read_int(r, 1, PIECE_MAX, &v))) return s;
    l->vec = (uint8_t)v;
    if ((s = read_name(r, forms, 2, &which))) return s;
    l->region = which == 1;
    if (l->region) {
        l->along = l->layout.inner = (uint8_t)own_axis(side);
        return ST_OK;
    }
    if ((s = read_axis(r, side, &l->along)) || (s = read_name(r, inner, 1, &which))) return s;
    if ((s = read_axis(r, side, &l->layout.inner))) return s;
    return read_layout(r, &l->layout);
}

static Status read_raster(Reader *r, RProg *x) {
    int which;
    int64_t v = 0;
    Status s = read_name(r, rprog_raster_name, 3, &which);
    if (!s && which == RASTER_GROUPED) s = read_int(r, 1, INT16_MAX, &v);
    x->raster = (Raster)which;
    x->group = (int16_t)v;
    return s;
}

static Status read_skeleton(Reader *r, RProg *x) {
    int which;
    Status s = read_name(r, rprog_skeleton_name, SK_COUNT, &which);
    Problem *p = &r->plan->problem[r->kernel], given = *p;
    if (!s && which == SK_STREAM && given.contraction && !given.stats)
        rtile_as_stream(r->arena, &given, r->plan->align, p);
    if (!s && which == SK_STREAM) *x = rprog_stream_base();
    if (!s && which == SK_ROW) *x = rprog_row_base();
    if (!s && which == SK_COLUMN) *x = rprog_column_base();
    if (!s && which == SK_WINDOW) *x = rprog_window_base();
    if (!s && which == SK_PERMUTE) *x = rprog_permute_base();
    if (!s) x->skeleton = (Skeleton)which;
    return s;
}

static Status read_keep(Reader *r, RowKeep *out) {
    int which = 0;
    Status s = read_name(r, rprog_keep_name, KEEP_COUNT, &which);
    *out = (RowKeep)which;
    return s;
}

static Status read_stats(Reader *r, RowStats *out) {
    int which = 0;
    Status s = read_name(r, rprog_stats_name, STATS_COUNT, &which);
    *out = (RowStats)which;
    return s;
}

/* N [tail TILES units BLOCKS]  */
static Status read_slices(Reader *r, RProg *x) {
    static const char *const tail[] = {"tail"}, *const units[] = {"units"};
    int which;
    int64_t v = 0, t = 0, u = 0;
    Status s = read_int(r, 1, GRID_Y_MAX, &v);
    size_t before = r->at.pos;
    bool more = !s && next_word(r).len > 0;
    r->at.pos = before;
    if (more && !(s = read_name(r, tail, 1, &which)) && !(s = read_int(r, 1, INT32_MAX, &t)) &&
        !(s = read_name(r, units, 1, &which)))
        s = read_int(r, 1, INT32_MAX, &u);
    x->split = (int32_t)v;
    x->tail = (int32_t)t;
    x->units = (int32_t)u;
    return s;
}

static Status read_value(Reader *r, PlanKey key, RProg *x) {
    int64_t v = 0, w = 0;
    Status s = ST_OK;
    switch (key) {
    case KEY_SKELETON: return read_skeleton(r, x);
    case KEY_UNIT: return read_unit(r, x);
    case KEY_BLOCK: return read_tile(r, AX_CLASSES, &x->block);
    case KEY_WARP: return read_tile(r, AX_CLASSES, &x->warp);
    case KEY_THREAD: return read_tile(r, AX_CLASSES, &x->thread);
    case KEY_LOAD_A: return read_load(r, 0, &x->load[0]);
    case KEY_LOAD_B: return read_load(r, 1, &x->load[1]);
    case KEY_RASTER: return read_raster(r, x);
    case KEY_VEC:
        if (!(s = read_int(r, 1, 64, &v))) s = read_int(r, 1, 64, &w);
        x->vec_m = (uint8_t)v;
        x->vec_n = (uint8_t)w;
        return s;
    case KEY_UNROLL:
        s = read_int(r, 1, 4096, &v);
        x->unroll = (int16_t)v;
        return s;
    case KEY_STAGES:
        s = read_int(r, 1, STAGES_MAX, &v);
        x->stages = (uint8_t)v;
        return s;
    case KEY_BOX: return read_tile(r, r->plan->problem[r->kernel].permute.out.n_digit, &x->block);
    case KEY_THREADS:
        s = read_int(r, 1, 1024, &v);
        x->threads = (int16_t)v;
        return s;
    case KEY_READ_A: return read_source(r, &x->load[0]);
    case KEY_READ_B: return read_source(r, &x->load[1]);
    case KEY_STORE: return read_store(r, x);
    case KEY_SPLIT: return read_slices(r, x);
    case KEY_STATS: return read_stats(r, &x->stats);
    case KEY_KEEP: return read_keep(r, &x->keep);
    case KEY_BLOCKS:
        s = read_int(r, 1, 256, &v);
        x->blocks_per_sm = (int16_t)v;
        return s;
    case KEY_COUNT: break;
    }
    return s;
}

/* The section is over: everything there, and a legal program.  */
static Status finish_kernel(Reader *r) {
    if (r->kernel < 0) return ST_OK;
    const Problem *p = &r->plan->problem[r->kernel];
    RProg *x = &r->plan->prog[r->kernel];
    for (PlanKey key = 0; key < KEY_COUNT; key++) {
        const char *name = rprog_key_name[key];
        Word w = {name, strlen(name), 0};
        bool wanted = rprog_has_key(p, x->skeleton, key), seen = (r->seen >> key) & 1;
        if (wanted && !seen) return fail(r, r->kernel_pos, "the kernel has no line '%.*s'", w);
        if (!wanted && seen) return fail(r, r->kernel_pos, "line '%.*s' does not apply here", w);
    }
    int16_t promised = x->blocks_per_sm;
    rprog_derive(p, r->dev, x);
    x->blocks_per_sm = promised;
    const char *why = rprog_check(p, r->dev, x);
    Word none = {0};
    if (why) {
        Status s = fail(r, r->kernel_pos, "not a legal program for this operator and device%.*s",
                        none);
        diag_hint(r->diag, "%s", why);
        return s;
    }
    return ST_OK;
}

/* `sN V ...`, each run-time size once and in order.  */
static Status read_upto(Reader *r, const Te *te, int64_t **out) {
    int which;
    int64_t *value = *out = ARENA_ARRAY(r->arena, int64_t, te->n_size + 1);
    Status s = ST_OK;
    for (int i = 0; i < te->n_size && !s; i++) {
        value[i] = te->size[i].extent.value;
        if (!rplan_varies(te, i)) continue;
        const char *const name[] = {arena_printf(r->arena, "s%d", i)};
        s = read_name(r, name, 1, &which);
        if (!s) s = read_int(r, te->size[i].extent.min, te->size[i].extent.value, &value[i]);
    }
    return s;
}

/* `of GROUP upto ...`  */
static Status read_sizes(Reader *r, int number) {
    static const char *const of[] = {"of"}, *const upto[] = {"upto"};
    RPlan *p = r->plan;
    const Te *te = p->te;
    int which;
    int64_t group, *value;
    Status s = read_name(r, of, 1, &which);
    if (!s) s = read_int(r, 0, p->n_group - 1, &group);
    if (!s) s = read_name(r, upto, 1, &which);
    if (!s) s = read_upto(r, te, &value);
    if (s) return s;
    rplan_extend(r->arena, p, 1);
    p->part[number] = (int)group;
    p->upto[number] = value;
    p->group[number] = p->group[group];
    p->n = number + 1;
    rtile_resize(r->arena, &p->problem[group], te_sized(r->arena, te, value), p->align,
                 &p->problem[number]);
    return ST_OK;
}

static Status begin_kernel(Reader *r, Word head) {
    Status s = finish_kernel(r);
    int64_t number;
    if (s) return s;
    size_t pos = r->at.pos;
    if ((s = read_int(r, 0, INT32_MAX, &number))) return s;
    if (number != r->kernel + 1) return fail(r, pos + 1, "kernels are not in order%.*s", (Word){0});
    bool some = r->plan->te && r->plan->te->runtime && number >= r->plan->n_group &&
                number < RPLAN_SET * r->plan->n_group;
    if (some) s = read_sizes(r, (int)number);
    if (s) return s;
    if (number >= r->plan->n) {
        s = fail(r, pos + 1, "more kernels than the operator has%.*s", (Word){0});
        diag_hint(r->diag, "it has %d", r->plan->n);
        return s;
    }
    r->kernel = (int)number;
    r->kernel_pos = head.pos;
    r->seen = 0;
    r->plan->prog[number] = (RProg){0};
    return ST_OK;
}

static Status read_key(Reader *r, Word w) {
    for (PlanKey key = 0; key < KEY_COUNT; key++) {
        if (!is_word(w, rprog_key_name[key])) continue;
        if ((r->seen >> key) & 1) return fail(r, w.pos, "second line '%.*s'", w);
        if (key != KEY_SKELETON && !(r->seen & 1u << KEY_SKELETON)) {
            return fail(r, w.pos, "line '%.*s' before 'skeleton'", w);
        }
        r->seen |= 1u << key;
        return read_value(r, key, &r->plan->prog[r->kernel]);
    }
    return fail(r, w.pos, "unknown line '%.*s'", w);
}

/* The kernels of the split at hand are all there.  */
static Status finish_split(Reader *r, size_t pos) {
    Status s = finish_kernel(r);
    if (s || r->kernel + 1 >= r->plan->n) return s;
    s = fail(r, pos, "the plan ends too early%.*s", (Word){0});
    diag_hint(r->diag, "the operator needs %d kernels, the plan has %d", r->plan->n, r->kernel + 1);
    return s;
}

static void begin_split(Reader *r, RPlan *plan) {
    r->plan = plan;
    r->kernel = -1;
    plan->prog = ARENA_ARRAY(r->arena, RProg, plan->n > 0 ? plan->n : 1);
    plan->n_group = plan->n;
}

/* `split NAME`: how the op was split into the groups that the plan is read for.  */
static Status read_split(Reader *r, Word head) {
    int which;
    Status s = read_name(r, rprog_split_name, TE_SPLIT_COUNT, &which);
    if (!s && r->plan->te && which != (int)r->plan->te->split)
        s = fail(r, head.pos, "the kernels are split in another way than '%.*s' says", head);
    return s;
}

/* `upto sN V ... split NAME`: the op split in another way for some sizes.  */
static Status read_other(Reader *r, Word head) {
    static const char *const split[] = {"split"};
    int which;
    int64_t *value;
    Status s = finish_split(r, head.pos);
    if (!s && !r->plan->other) s = fail(r, head.pos, "'%.*s' where no size varies", head);
    if (s) return s;
    begin_split(r, r->plan->other);
    RPlan *p = r->plan;
    if (!(s = read_upto(r, p->te, &value)) && !(s = read_name(r, split, 1, &which)))
        s = read_split(r, head);
    if (s) return s;
    p->within = value;
    const Te *sized = te_sized(r->arena, p->te, value);
    for (int i = 0; i < p->n; i++) {
        Problem all = p->problem[i];
        rtile_resize(r->arena, &all, sized, p->align, &p->problem[i]);
    }
    return ST_OK;
}

static Status read_line(Reader *r, Word w) {
    if (is_word(w, "kernel")) return begin_kernel(r, w);
    if (is_word(w, "upto") && r->kernel >= 0) return read_other(r, w);
    if (r->kernel < 0 && is_word(w, "split")) return read_split(r, w);
    if (r->kernel < 0) return fail(r, w.pos, "expected 'kernel 0', got '%.*s'", w);
    return read_key(r, w);
}

static Status read_lines(Reader *r) {
    bool headed = false;
    while (r->at.pos < r->at.len) {
        Word w = next_word(r);
        if (w.len > 0) {
            Status s;
            int64_t version;
            if (headed) {
                s = read_line(r, w);
            } else if (is_word(w, "roller-plan")) {
                s = read_int(r, 1, 1, &version);
                headed = true;
            } else {
                s = fail(r, w.pos, "expected 'roller-plan 1', got '%.*s'", w);
            }
            if (s) return s;
            w = next_word(r);
            if (w.len > 0) return fail(r, w.pos, "unexpected '%.*s' at the end of the line", w);
        }
        const char *end = memchr(r->at.text + r->at.pos, '\n', r->at.len - r->at.pos);
        r->at.pos = end ? (size_t)(end - r->at.text) + 1 : r->at.len;
    }
    if (!headed) return fail(r, 0, "expected 'roller-plan 1'%.*s", (Word){0});
    return finish_split(r, r->at.len);
}

Status rprog_read(Arena *a, Diag *d, const char *file, const char *text, size_t len,
                  const Device *dev, RPlan *plan) {
    Reader r = {.arena = a, .diag = d, .at = {file, text, len, 0}, .dev = dev};
    begin_split(&r, plan);
    Status s = read_lines(&r);
    if (!s && r.plan->other)
        s = fail(&r, len, "the plan ends too early%.*s", (Word){0});
    return s;
}
