/* Sizes and tiles of the files of published times.  */
#include "learn_tiles.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>

enum { MANY = 16 };

static bool same_size(const MeasuredRow *x, const MeasuredRow *y) {
    return !strcmp(x->gpu, y->gpu) && !strcmp(x->op, y->op) && !strcmp(x->dtype, y->dtype) &&
           !strcmp(x->sizes, y->sizes);
}

static uint64_t hashed(uint64_t h, int64_t v) { return hash64(&v, sizeof v, h); }

static LearnPlan plan_of(const MeasuredRow *r, const MeasuredTile *t, const Estimate *e) {
    LearnPlan p = {.us = e->us, .plan = hash64(r->kernel, strlen(r->kernel), 0),
                   .sizes = hash64(r->sizes, strlen(r->sizes), 0)};
    memcpy(p.term, e->term, sizeof p.term);
    p.trait[0] = hashed(hashed(0, t->m), t->n);
    p.trait[1] = hashed(0, t->k);
    p.trait[2] = hashed(0, t->threads);
    return p;
}

/* All rows of the size of rows->row[at].  False: it is not one of many tiles with a profile.  */
static bool read_size(const Replay *r, Arena *scratch, const MeasuredRows *rows, int at,
                      int least, Size *out) {
    const MeasuredRow *first = &rows->row[at];
    *out = (Size){.row = first, .best = INFINITY};
    for (int i = 0; i < rows->n; i++) out->all += same_size(first, &rows->row[i]);
    Diag d = diag_new(scratch);
    Buf text = buf_new(scratch);
    Te *te;
    PlanSet set;
    CompileOptions o = {.top = 1, .align = 16, .workspace_limit = -1};
    if (out->all < MANY || !measured_te(first, &text)) return false;
    out->dev = measured_device(r->a, &d, r->boards, first->gpu);
    if (!out->dev) return false;
    if (te_parse(scratch, &d, (DiagText){"row", buf_str(&text), text.len}, NULL, NULL, &te) ||
        compile_plan(scratch, &d, &(PlanRequest){te, out->dev, &o}, &set))
        return false;
    out->plan = ARENA_ARRAY(r->a, LearnPlan, out->all);
    out->us = ARENA_ARRAY(r->a, double, out->all);
    for (int i = at; i < rows->n; i++) {
        const MeasuredRow *row = &rows->row[i];
        MeasuredTile t;
        Estimate e;
        const char *why;
        if (!same_size(first, row)) continue;
        out->best = fmin(out->best, row->us);
        if (!measured_tile(row, &t) ||
            !measured_library(scratch, out->dev, &set, &t, &e, NULL, &why))
            continue;
        out->us[out->n] = row->us;
        out->plan[out->n++] = plan_of(row, &t, &e);
    }
    return out->n > least;
}

static bool seen(const Replay *r, const MeasuredRow *row) {
    for (int i = 0; i < r->n; i++)
        if (same_size(r->size[i].row, row)) return true;
    return false;
}

void learn_read_sizes(Replay *r, const MeasuredRows *rows, int least) {
    Arena *scratch = arena_create(NULL);
    for (int i = 0; scratch && i < rows->n && r->n < MOST_SIZES; i++) {
        if ((i > 0 && same_size(&rows->row[i - 1], &rows->row[i])) || seen(r, &rows->row[i]))
            continue;
        ArenaMark mark = arena_mark(scratch);
        r->n += read_size(r, scratch, rows, i, least, &r->size[r->n]);
        arena_reset(scratch, mark);
    }
    arena_destroy(scratch);
}
