/* What launches take at which sizes, read: `upto s0*s1 64 take 2 1`, `else take 0 1`.  */
#include "rprogram/reader.h"

static const RPlan *strategy_number(const Reader *r, int64_t n) {
    const RPlan *p = r->first;
    for (; p && n > 0; n--) p = p->other;
    return p;
}

/* A measure of the op; its number goes to *m.  */
static Status read_measure(Reader *r, Word w, int *m) {
    const RSelector *s = r->select;
    Buf all = buf_new(r->arena);
    for (*m = 0; *m < s->n_measure; (*m)++) {
        Buf name = buf_new(r->arena);
        rplan_print_measure(&s->measure[*m], &name);
        if (reader_is(w, buf_str(&name))) return ST_OK;
        buf_printf(&all, "%s%s", *m ? ", " : "", buf_str(&name));
    }
    Status status = reader_fail(r, w.pos, "the time of no kernel depends on '%.*s'", w);
    diag_hint(r->diag, "bounds are of %s", buf_str(&all));
    return status;
}

/* The programs behind `take`.  */
static Status read_taken(Reader *r, RChoice *c) {
    DiagPlace before = r->at;
    int64_t v;
    Status s = ST_OK;
    if (reader_means(reader_word(&r->at), "strategy")) {
        if ((s = reader_int(r, 0, RPLAN_SET, &v))) return s;
        c->strategy = (int)v;
    } else {
        r->at = before;
    }
    const RPlan *strategy = strategy_number(r, c->strategy);
    if (!strategy) return reader_fail(r, before.pos, "the plan has no such strategy%.*s",
                                      (Word){0});
    int groups = rplan_groups(strategy);
    c->program = ARENA_ARRAY(r->arena, int, groups + 1);
    for (int g = 0; g < groups && !s; g++) {
        s = reader_int(r, 0, (int64_t)RPLAN_SET * groups, &v);
        c->program[g] = (int)v;
    }
    return s;
}

static Status earlier_form(Reader *r, Word w) {
    Status s = reader_fail(r, w.pos, "expected 'take' behind the sizes, got '%.*s'", w);
    diag_hint(r->diag, "a plan of an earlier version chose by each size for itself: plan the op "
                       "again");
    return s;
}

Status reader_taken_upto(Reader *r, bool last) {
    RSelector *s = r->select;
    RChoice *c = &s->choice[s->n];
    Word w = reader_word(&r->at);
    if (!r->first->te || !r->first->te->runtime)
        return reader_fail(r, w.pos, "'%.*s' where no size varies", w);
    if (s->n == RPLAN_CHOICES) return reader_fail(r, w.pos, "too many choices%.*s", (Word){0});
    *c = (RChoice){.most = ARENA_ARRAY(r->arena, int64_t, s->n_measure + 1)};
    for (int m = 0; m < s->n_measure; m++) c->most[m] = INT64_MAX;
    for (; !last && w.len > 0 && !reader_is(w, "take"); w = reader_word(&r->at)) {
        int m = 0;
        Status status = reader_is(w, "split") ? earlier_form(r, w) : read_measure(r, w, &m);
        if (!status) status = reader_int(r, 0, INT64_MAX - 1, &c->most[m]);
        if (status) return status;
    }
    if (!reader_is(w, "take")) return earlier_form(r, w);
    s->n++;
    return read_taken(r, c);
}

Status reader_choices_end(Reader *r, size_t pos) {
    RSelector *s = r->select;
    int bounded = 0;
    if (s->n == 0) return ST_OK;
    for (int m = 0; m < s->n_measure; m++) bounded += s->choice[s->n - 1].most[m] < INT64_MAX;
    if (bounded) return reader_fail(r, pos, "no line 'else take' ends the choices%.*s", (Word){0});
    rplan_keep_bounded(r->arena, s);
    r->first->select = s;
    return ST_OK;
}

Status reader_program(Reader *r, int number, size_t pos) {
    RPlan *p = r->plan;
    const RSelector *select = r->first->select;
    if (!select) return ST_OK;            /* the programs are for all sizes */
    int64_t *upto = ARENA_ARRAY(r->arena, int64_t, p->te->n_size + 1);
    int g = rplan_group_of(p, number);
    if (!rplan_upto(select, r->strategy, g, number, upto)) {
        if (number < p->n_group) return ST_OK;
        return reader_fail(r, pos, "the kernel is taken at no sizes%.*s", (Word){0});
    }
    Problem all;                          /* tiled or not, as its skeleton, still unread, says */
    Status s = rtile_problem(r->arena, r->diag, p->te, &p->group[g], p->align, &all);
    if (s) return s;
    if (r->sized.te != p->te) r->sized = (TeSized){r->arena, p->te, NULL};
    rtile_resize(r->arena, &all, te_sized_once(&r->sized, upto), p->align, &p->problem[number]);
    return ST_OK;
}

/* Every kernel that is taken is there, and is one of its group.  */
Status reader_taken(Reader *r, size_t pos) {
    const RSelector *s = r->first->select;
    for (int k = 0; s && k < s->n; k++) {
        RChoice *c = &s->choice[k];
        if (c->strategy == r->strategy && !rplan_bound_given(s, r->plan->te, c))
            return reader_fail(r, pos, "a strategy is taken for sizes that it is not for%.*s",
                               (Word){0});
        for (int g = 0; c->strategy == r->strategy && g < r->plan->n_group; g++) {
            int n = c->program[g];
            if (n >= r->plan->n || rplan_group_of(r->plan, n) != g)
                return reader_fail(r, pos, "a kernel is taken for a group that is not its own%.*s",
                                   (Word){0});
        }
    }
    return ST_OK;
}
