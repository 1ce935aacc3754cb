/* Places in fragments (rtile/fragment.h), as text.  */
#include "codegen/blocks.h"

static const char *plus(const Cg *cg, const char *sum, const char *term) {
    return sum ? cg_text(cg, "%s + %s", sum, term) : term;
}

const char *fragment_lane_place(const Cg *cg, const Fragment *f, FragDim dim, int scale) {
    const char *sum = NULL;
    int below = 1;
    for (int i = 0; f->deal.digit[i].from == DEAL_LANE; i++) {
        const DealDigit *d = &f->deal.digit[i];
        bool last = d[1].from != DEAL_LANE;
        const char *at = below > 1 ? cg_text(cg, "lane / %du", below) : "lane";
        if (!last) at = cg_text(cg, "%s %% %du", at, d->extent);
        if (d->step * scale > 1) at = cg_text(cg, "%s * %d", at, d->step * scale);
        if (d->to == dim && d->step) sum = plus(cg, sum, at);
        below *= d->extent;
    }
    return sum ? sum : "0";
}

/* The first digit of a slot's number.  */
static int first_slot(const Fragment *f) {
    int i = 0;
    while (f->deal.digit[i].from == DEAL_LANE) i++;
    return i;
}

/* Is digit i of a slot's number the last one along its side?  */
static bool is_last(const Fragment *f, int i) {
    for (int k = i + 1; k < f->deal.n; k++) {
        if (f->deal.digit[k].to == f->deal.digit[i].to) return false;
    }
    return true;
}

const char *fragment_slot_place(const Cg *cg, const Fragment *f, FragDim dim, const char *x) {
    const char *sum = NULL;
    for (int i = first_slot(f), below = 1; i < f->deal.n; i++) {
        const DealDigit *d = &f->deal.digit[i];
        if (d->to != dim) continue;
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
    for (int i = first_slot(f), below = 1; i < f->deal.n; i++) {
        const DealDigit *d = &f->deal.digit[i];
        const char *x = d->to == FRAG_ROW ? row : col;
        if (under[d->to] > 1) x = cg_text(cg, "%s / %d", x, under[d->to]);
        if (!is_last(f, i)) x = cg_text(cg, "%s %% %d", x, d->extent);
        if (below > 1) x = cg_text(cg, "%s * %d", x, below);
        sum = sum ? cg_text(cg, "%s + %s", x, sum) : x;
        below *= d->extent;
        under[d->to] *= d->extent;
    }
    return sum;
}

const char *fragment_place_of(const Cg *cg, const Fragment *f, FragDim dim, const char *x,
                              int multiple, int scale) {
    const char *sum = NULL;
    for (int i = first_slot(f), below = 1; i < f->deal.n; i++) {
        const DealDigit *d = &f->deal.digit[i];
        bool last = i + 1 == f->deal.n;
        int step = d->step * scale, under = below;
        below *= d->extent;
        if (d->to != dim || below <= multiple) continue;
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
