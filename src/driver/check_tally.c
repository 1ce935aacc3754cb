/* What a check found so far, and the worst of it as text.  */
#include "driver/check_impl.h"

const CheckData check_data_set[TE_FILLS] = {
    [TE_FILL_INTEGERS] = {"integer", false},
    [TE_FILL_REALS] = {"real", false},
    [TE_FILL_EXTREMES] = {"extreme", true},
};

static void compare_text(Check *c, const Te *te, int tensor, const CompareResult *r) {
    if (!r->wrong || c->failed_tensor >= 0) return;
    c->failed_tensor = tensor;
    const TeTensor *t = &te->tensor[tensor];
    Buf b = buf_new(c->a);
    buf_printf(&b, "%s[", t->name);
    for (int i = 0; i < t->rank; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)r->worst[i]);
    bool real = te_dtype_class(t->dtype) == TE_CLASS_REAL;
    buf_puts(&b, "] is ");
    if (real) buf_real(&b, r->got.v);
    else buf_printf(&b, "%lld", (long long)r->got.i);
    buf_puts(&b, ", expected ");
    if (real) buf_real(&b, r->want.v);
    else buf_printf(&b, "%lld", (long long)r->want.i);
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
