#include "codegen/address.h"
#include <string.h>

static void advance_pointer(Kernel *k, const Side *s) {
    const FusedAxis *axis = &s->k_axis;
    if (!s->copies || !s->pointer || axis->n_digit == 0) return;
    const char *stride = address_stride(k, &s->o->access, OFFSET, axis, 0);
    if (!stride) return;
    if (strcmp(stride, "1") == 0) cg_line(k->cg, "%c_src += BK;", s->id);
    else cg_line(k->cg, "%c_src += BK * %s;", s->id, stride);
}

void load_copy(Kernel *k, const Node *n) {
    const Side *s = &k->c.side[n->of];
    if (n->to) {
        load_staged_keep(k, s);
        return;
    }
    address_step(k, s);
    if (rprog_copies_chunks(s->l)) load_async(k, s, n->from);
    else load_staged(k, s);
    advance_pointer(k, s);
}

static const char *following(const Kernel *k, const char *name) {
    return cg_text(k->cg, "%s + STAGE < STAGES * STAGE ? %s + STAGE : 0", name, name);
}

void load_more(Kernel *k) {
    cg_line(k->cg, "const bool more = step + %d < steps;", k->l->layout->ring[0].ahead);
    for (int i = 0; i < 2; i++) {
        if (k->c.side[i].spread) address_step(k, &k->c.side[i]);
    }
}

void load_row(Kernel *k, const Node *copies, Ir row, int rows) {
    for (const Node *n = copies; n; n = n->next)
        load_async_row(k, &k->c.side[n->of], row, rows);
}

void load_next(Kernel *k, bool spread) {
    for (int i = 0; i < 2 && spread; i++) {
        if (k->c.side[i].spread) advance_pointer(k, &k->c.side[i]);
    }
    cg_line(k->cg, "k_next += BK;");
    if (k->c.tables) cg_line(k->cg, "turn ^= 1;");
}

void load_put(Kernel *k) {
    if (k->c.r->stages > 1) cg_line(k->cg, "put = %s;", following(k, "put"));
}

/* To where the next step reads.  Matrix units fetch its first fragments in this one, without a
 * branch: the last step stays where it is and fetches its own once more, for nobody.  */
void load_take(Kernel *k, bool stays) {
    Cg *cg = k->cg;
    if (stays) {
        cg_line(cg, "// the last step stays where it is, and fetches once more for nobody");
        cg_line(cg, "const bool next = step + 1 < steps;");
    }
    const char *only = stays ? "if (next) " : "";
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && s->l->region) region_advance(k, s, only);
    }
    if (k->c.r->stages > 1) cg_line(cg, "%stake = %s;", only, following(k, "take"));
}
