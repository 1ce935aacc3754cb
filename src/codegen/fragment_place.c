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
        if (d->dim == dim && d->step) sum = plus(cg, sum, at);
        below *= d->extent;
    }
    return sum ? sum : "0";
}

/* Is digit i of a slot's number the last one along its side?  */
static bool is_last(const Fragment *f, int i) {
    for (int k = i + 1; k < FRAG_DIGITS && f->slot[k].extent; k++) {
        if (f->slot[k].dim == f->slot[i].dim) return false;
    }
    return true;
}

const char *fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, const char *x) {
    const char *sum = NULL;
    for (int i = 0, below = 1; i < FRAG_DIGITS && f->slot[i].extent; i++) {
        const FragDigit *d = &f->slot[i];
        if (d->dim != dim) continue;
        const char *at = below > 1 ? cg_text(cg, "%s / %d", x, below) : x;
        if (!is_last(f, i)) at = cg_text(cg, "%s %% %d", at, d->extent);
        sum = plus(cg, sum, d->step > 1 ? cg_text(cg, "%s * %d", at, d->step) : at);
        below *= d->extent;
    }
    return sum ? sum : "0";
}

const char *fragment_slot_number(const Cg *cg, const Fragment *f, const char *row,
                                 const char *col) {
    const char *sum = NULL;
    int under[FRAG_DIMS] = {1, 1};            /* of the same side */
    for (int i = 0, below = 1; i < FRAG_DIGITS && f->slot[i].extent; i++) {
        const FragDigit *d = &f->slot[i];
        const char *x = d->dim == FRAG_ROW ? row : col;
        if (under[d->dim] > 1) x = cg_text(cg, "%s / %d", x, under[d->dim]);
        if (!is_last(f, i)) x = cg_text(cg, "%s %% %d", x, d->extent);
        if (below > 1) x = cg_text(cg, "%s * %d", x, below);
        sum = sum ? cg_text(cg, "%s + %s", x, sum) : x;
        below *= d->extent;
        under[d->dim] *= d->extent;
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
        if (d->dim != dim || below <= multiple) continue;
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
