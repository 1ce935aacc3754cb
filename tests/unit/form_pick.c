/* links: sim */
#include "form_pick.h"

#include "microperf/microperf.h"

Form form_of(const Device *dev, const RProg *r) {
    switch (r->skeleton) {
    case SK_STREAM: return FORM_STREAM;
    case SK_ROW: return FORM_ROW;
    case SK_COLUMN: return FORM_COLUMN;
    case SK_WINDOW: return FORM_WINDOW;
    case SK_PERMUTE: return FORM_PERMUTE;
    case SK_SCAN: return FORM_SCAN;
    default:
        return rprog_matrix(dev, r) ? FORM_MATRIX
               : rprog_packed(dev, r) ? FORM_PACKED : FORM_CONTRACT;
    }
}

unsigned form_all(const KernelCase *c) {
    unsigned forms = 0;
    for (int g = 0; g < c->plan.n; g++) {
        if (c->plan.problem[g].contraction) forms |= 1u << FORM_STREAM;
        for (int i = 0; i < c->set[g].n; i++) forms |= 1u << form_of(c->dev, &c->set[g].prog[i]);
    }
    return forms;
}

/* Candidates of group g of the form; all of them where there is none.  */
static RProgSet candidates(KernelCase *c, int g, Form form) {
    Problem *p = &c->plan.problem[g];
    RProgSet all = c->set[g], some = {.prog = ARENA_ARRAY(c->arena, RProg, all.n + 1)};
    if (form == FORM_STREAM && p->contraction) {
        Problem given = *p;
        rtile_as_stream(c->arena, &given, 16, p);
        if (rprog_candidates(c->arena, &c->diag, p, c->dev, NULL, &all)) return some;
    }
    for (int i = 0; i < all.n; i++) {
        if (form_of(c->dev, &all.prog[i]) == form) some.prog[some.n++] = all.prog[i];
    }
    return some.n > 0 ? some : all;
}

const char *form_pick(KernelCase *c, Form form) {
    for (int g = 0; g < c->plan.n; g++) {
        RProgSet set = candidates(c, g, form);
        Ranked *r;
        if (set.n == 0) return "no program";
        if (!mp_rank(c->arena, &c->plan.problem[g], c->dev, &set, 1, &r)) return "not ranked";
        c->plan.prog[g] = r[0].prog;
        const char *wrong = rprog_check(&c->plan.problem[g], c->dev, &c->plan.prog[g]);
        if (wrong) return wrong;
    }
    return NULL;
}
