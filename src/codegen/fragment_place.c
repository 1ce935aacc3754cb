/* Places in fragments (rtile/fragment.h), as text.  */
#include "codegen/blocks.h"

static const char *plus(const Cg *cg, const char *sum, const char *term) {
    return sum ? cg_text(cg, "%s + %s", sum, term) : term;
}

const char *fragment_lane_place(const Cg *cg, const Fragment *f, FragDim dim, int scale) {
    const char *sum = NULL;
    int below = 1;
    for (int i = 0; i < FRAG_DIGITS && f->lane[i].extent; i++) {
        const FragDigit *d = &f->lane[i];
        bool last = i + 1 == FRAG_DIGITS || f->lane[i + 1].extent == 0;
        const char *at = below > 1 ? cg_text(cg, "lane / %du", below) : "lane";
        if (!last) at = cg_text(cg, "%s %% %du", at, d->extent);
        if (d->step * scale > 1) at = cg_text(cg, "%s * %d", at, d->step * scale);
        if (d->dim == dim) sum = plus(cg, sum, at);
        below *= d->extent;
    }
    return sum ? sum : "0";
}

/* One digit along the side, as for all units so far; another one would add its share here.  */
const char *fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, const char *x) {
    for (int i = 0; i < FRAG_DIGITS && f->slot[i].extent; i++) {
        if (f->slot[i].dim != dim) continue;
        return f->slot[i].step > 1 ? cg_text(cg, "%s * %d", x, f->slot[i].step) : x;
    }
    return "0";
}

const char *fragment_slot_number(const Cg *cg, const Fragment *f, const char *row,
                                 const char *col) {
    const char *sum = NULL;
    for (int i = 0, below = 1; i < FRAG_DIGITS && f->slot[i].extent; i++) {
        const char *x = f->slot[i].dim == FRAG_ROW ? row : col;
        if (below > 1) x = cg_text(cg, "%s * %d", x, below);
        sum = sum ? cg_text(cg, "%s + %s", x, sum) : x;
        below *= f->slot[i].extent;
    }
    return sum;
}

const char *fragment_place_of(const Cg *cg, const Fragment *f, FragDim dim, const char *x,
                              int multiple, int scale) {
    const char *sum = NULL;
    for (int i = 0, below = 1; i < FRAG_DIGITS && f->slot[i].extent; i++) {
        const FragDigit *d = &f->slot[i];
        bool last = i + 1 == FRAG_DIGITS || f->slot[i + 1].extent == 0;
        int step = d->step * scale, under = below;
        below *= d->extent;
        if (d->dim != dim || under < multiple) continue;
        if (last && under == multiple && step % under == 0) {
            sum = plus(cg, sum, cg_text(cg, "%s * %d", x, step / under));
            continue;
        }
        const char *at = under > 1 ? cg_text(cg, "%s / %d", x, under) : x;
        if (!last) at = cg_text(cg, "%s %% %d", at, d->extent);
        sum = plus(cg, sum, step > 1 ? cg_text(cg, "%s * %d", at, step) : at);
    }
    return sum;
}
