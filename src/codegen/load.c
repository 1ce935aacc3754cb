#include "codegen/address.h"
#include <string.h>

const char *load_stage(const Kernel *k, const char *name) {
    return k->c.r->stages > 1 ? cg_text(k->cg, " + %s", name) : "";
}

static void advance_pointer(Kernel *k, const Side *s) {
    const FusedAxis *axis = &s->k_axis;
    if (!s->copies || !s->pointer || axis->n_digit == 0) return;
    const char *stride = address_stride(k, &s->o->access, OFFSET, axis, 0);
    if (!stride) return;
    if (strcmp(stride, "1") == 0) cg_line(k->cg, "%c_src += BK;", s->id);
    else cg_line(k->cg, "%c_src += BK * %s;", s->id, stride);
}

/* To the step that is loaded next.  */
static void advance_k(Kernel *k) {
    cg_line(k->cg, "k_next += BK;");
    if (!k->c.tables) return;
    cg_line(k->cg, "turn ^= 1;");
    table_next(k);
}

/* The loads of the step that begins at k_next: all, or those that are not spread.  */
static void load_both(Kernel *k, bool all) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (!s->present || s->l->region || (s->spread && !all)) continue;
        address_step(k, s);
        if (s->l->kind == LOAD_ASYNC) load_async(k, s, all);
        else load_staged(k, s);
        advance_pointer(k, s);
    }
}

static void keep_staged(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && !s->l->region && s->l->kind == LOAD_STAGED) load_staged_keep(k, s);
    }
}

static const char *following(const Kernel *k, const char *name) {
    return cg_text(k->cg, "%s + STAGE < STAGES * STAGE ? %s + STAGE : 0", name, name);
}

static void advance(Kernel *k, const char *name) {
    if (k->c.r->stages > 1) cg_line(k->cg, "%s = %s;", name, following(k, name));
}

/* Are there all the steps that are loaded before the loop?  */
static bool is_certain(const Contract *c) {
    return !c->sliced && !c->varying_k && c->steps >= c->ahead_steps;
}

void load_fill(Kernel *k) {
    const Contract *c = &k->c;
    Cg *cg = k->cg;
    cg_line(cg, "// fill: the first %s", c->ahead_steps > 1 ? "steps" : "step");
    if (c->tables) {
        table_next(k);
        cg_line(cg, "__syncthreads();");
    }
    if (c->ahead_steps > 1) {
        cg_line(cg, "#pragma unroll 1");
        cg_open(cg, "for (int step = 0; step < %d; step++)", c->ahead_steps);
    }
    bool certain = is_certain(c);
    if (!certain) cg_open(cg, "if (%s < steps)", c->ahead_steps > 1 ? "step" : "0");
    else if (c->ahead_steps == 1) cg_scope(cg);
    load_both(k, true);
    advance_k(k);
    keep_staged(k);
    if (!certain || c->ahead_steps == 1) cg_close(cg);
    if (c->async) cg_line(cg, "rl_cp_async_commit();");
    advance(k, "put");
    if (c->ahead_steps > 1 && c->tables) cg_line(cg, "__syncthreads();");
    if (c->ahead_steps > 1) cg_close(cg);
    load_wait(k);
    cg_blank(cg);
}

/* Is every load of a step spread?  */
static bool spreads_all(const Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        if (s->present && !s->l->region && !s->spread) return false;
    }
    return true;
}

void load_step(Kernel *k) {
    const Contract *c = &k->c;
    Cg *cg = k->cg;
    cg_line(cg, "// load: step + %d%s", c->ahead_steps, c->spread ? ", between the products" : "");
    if (c->spread) cg_line(cg, "const bool more = step + %d < steps;", c->ahead_steps);
    for (int i = 0; i < 2; i++) {
        if (c->side[i].spread) address_step(k, &c->side[i]);
    }
    if (c->spread && spreads_all(k)) return;
    if (c->spread) cg_open(cg, "if (more)");
    else cg_open(cg, "if (step + %d < steps)", c->ahead_steps);
    load_both(k, false);
    if (!c->spread) advance_k(k);
    cg_close(cg);
    if (c->async && !c->spread) cg_line(cg, "rl_cp_async_commit();");
}

void load_row(Kernel *k, const char *row, int rows) {
    for (int i = 0; i < 2; i++) {
        if (k->c.side[i].spread) load_async_row(k, &k->c.side[i], row, rows);
    }
}

void load_issued(Kernel *k) {
    for (int i = 0; i < 2; i++) {
        if (k->c.side[i].spread) advance_pointer(k, &k->c.side[i]);
    }
    advance_k(k);
    cg_line(k->cg, "rl_cp_async_commit();");
}

/* Whether something waits in registers to be kept; operands with a stage to spare do not.  */
static bool keeps(const Kernel *k) {
    for (int i = 0; i < 2; i++) {
        const Side *s = &k->c.side[i];
        bool direct = s->direct && k->c.r->stages > 1;
        bool staged = !s->l->region && s->l->kind == LOAD_STAGED;
        if (s->present && staged && !direct) return true;
    }
    return false;
}

void load_keep(Kernel *k) {
    if (!keeps(k)) return;
    cg_line(k->cg, "// keep: what was loaded for the next step");
    if (k->c.r->stages == 1) cg_line(k->cg, "__syncthreads();");
    bool always = rprog_stores_always(k->c.p, k->cg->dev, k->c.r);
    if (!always) cg_open(k->cg, "if (step + %d < steps)", k->c.ahead_steps);
    keep_staged(k);
    if (!always) cg_close(k->cg);
}

void load_wait(Kernel *k) {
    if (k->c.async) cg_line(k->cg, "rl_cp_async_wait<%d>();", k->c.ahead_steps - 1);
    cg_line(k->cg, "__syncthreads();");
}

/* To where the next step reads.  Matrix units fetch its first fragments in this one, without a
 * branch: the last step stays where it is and fetches its own once more, for nobody.  */
static void advance_read(Kernel *k, bool stays) {
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

void load_advance(Kernel *k) {
    advance(k, "put");
    advance_read(k, k->c.matrix.used && k->c.any_ahead);
}
