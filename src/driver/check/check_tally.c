/* What a check found so far, and the worst of it as text.  */
#include "driver/check/check_impl.h"

const CheckData check_data_set[TE_FILLS] = {
    [TE_FILL_INTEGERS] = {"integer", false},
    [TE_FILL_REALS] = {"real", false},
    [TE_FILL_EXTREMES] = {"extreme", true},
    [TE_FILL_SPARSE] = {"sparse", true},
};

static void put_value(Buf *b, bool real, const TeValue *v) {
    if (real) buf_real(b, v->v);
    else buf_printf(b, "%lld", (long long)v->i);
}

static void compare_text(Check *c, const Te *te, int tensor, const CompareResult *r) {
    if (!r->wrong || c->failed_tensor >= 0) return;
    c->failed_tensor = tensor;
    const TeTensor *t = &te->tensor[tensor];
    Buf b = buf_new(c->a);
    buf_printf(&b, "%s[", t->name);
    for (int i = 0; i < t->rank; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)r->worst[i]);
    bool real = te_dtype_class(t->dtype) == TE_CLASS_REAL;
    buf_puts(&b, r->unwritten ? "] was not stored" : "] is ");
    if (!r->unwritten) put_value(&b, real, &r->got);
    buf_puts(&b, ", expected ");
    put_value(&b, real, &r->want);
    if (real && !c->ref.exact) {
        buf_puts(&b, " with bound ");
        buf_real(&b, r->want.bound);
    }
    buf_printf(&b, " (%s data; %lld of %lld compared elements are wrong)",
               check_data_set[c->fill].name, (long long)r->wrong, (long long)r->compared);
    c->out->text = buf_str(&b);
}

void check_tally(Check *c, const Te *te, int tensor, const CompareResult *r) {
    compare_text(c, te, tensor, r);
    c->sum.compared += r->compared;
    c->sum.undecided += r->undecided;
    c->sum.wrong += r->wrong;
}

Status check_stored(Check *c, const int *tensor, int n, CheckLaunch *launch, void *user) {
    Status s = ST_OK;
    bool again = false;
    for (int i = 0; i < n && !s; i++)
        s = run_spoil(&c->run, c->a, c->d, tensor[i], &again);
    if (s || !again) return s;
    s = launch(c, user);
    return s || c->run.fault ? s : run_spoiled(&c->run, c->a, c->d);
}
