/* Linking: a kernel and the functions it calls become one flat array of instructions.
 *
 * Every function has its own registers and its own frame in local memory, so recursion is refused.
 * Before an instruction that is a reconvergence point stands a join; the join of a branch is known
 * here, once and for all.  */
#include "sim/link.h"

static SimPickFn *const picks[] = {
#define X(id, text, pipe, family, operands) sim_pick_##family,
    PTX_OPS(X)
#undef X
};
static const SimPipe pipes[] = {
#define X(id, text, pipe, family, operands) SIM_PIPE_##pipe,
    PTX_OPS(X)
#undef X
};

bool sim_link_error(SimLinker *l, const PtxInst *i, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *message = arena_vprintf(l->arena, fmt, ap);
    va_end(ap);
    size_t at = 0;
    for (int line = 1; line < i->line && at < l->m->len; at++) line += l->m->text[at] == '\n';
    DiagPlace place = {l->m->file, l->m->text, l->m->len, at + (size_t)(i->column - 1)};
    diag_error(l->diag, ST_SIMULATOR, "ptx", place, "%s %s", i->text, message);
    l->failed = true;
    return false;
}

/* ---- instructions ---- */

static bool choose(SimLink *k, SimInst *i, const PtxInst *p) {
    SimPick pick = {.arena = k->l.arena, .i = i, .p = p, .kernel = k->l.kernel, .left = p->mods};
    i->pipe = (uint8_t)pipes[p->op];
    i->aligned = p->op == OP_BAR || ptx_has(&p->mods, MOD_ALIGNED);
    i->exec = picks[p->op](&pick);
    if (!i->exec || pick.why) {
        return sim_link_error(&k->l, p, "%s", pick.why ? pick.why : "is not simulated");
    }
    for (int m = 0; m < MOD_COUNT; m++) {
        if (!ptx_has(&pick.left, (PtxMod)m)) continue;
        return sim_link_error(&k->l, p, "does not take .%s", sim_mod_name((PtxMod)m));
    }
    if (pick.next_type == p->n_type) return true;
    return sim_link_error(&k->l, p, "does not take .%s", sim_type_name(p->type[pick.next_type]));
}

/* Special registers outside mov are read into a register of their own first.  */
static int special_operands(const PtxInst *i) {
    int n = 0;
    for (int k = 0; i->op != OP_MOV && k < i->n_opnd; k++) n += i->opnd[k].kind == OPND_SREG;
    return n;
}

static void read_special(SimLink *k, SimInst *at, const PtxInst *p, PtxSreg sreg,
                         SimOpnd *operand) {
    Slot *slot = ARENA_ARRAY(k->l.arena, Slot, 1);
    *slot = k->file_bytes;
    k->file_bytes += 256;
    bool predicate = sreg == SREG_IS_EXPLICIT_CLUSTER;
    *operand = (SimOpnd){.kind = OPND_REG, .n = 1, .slot = slot,
                         .bits = predicate ? 1 : 32};
    *at = (SimInst){.exec = sim_exec_read_sreg, .d = *slot, .arg = (uint16_t)sreg,
                    .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT, .ptx = p};
}

static SimUnitCode *find_unit(SimLink *k, const PtxFunc *f) {
    for (size_t n = 0; n < k->n_unit; n++) {
        if (k->unit[n].f == f) return &k->unit[n];
    }
    return NULL;
}

static uint32_t join_of(const SimUnitCode *u, const PtxInst *p) {
    int b = u->cfg->of[p - u->f->inst], to = u->cfg->block[b].ipdom;
    return to < 0 ? SLOT_NONE : u->start[u->cfg->block[to].first];
}

static SimCopy *copy_list(SimLink *k, const SimUnitCode *from, const PtxOpnd *list,
                          PtxSymbol **formal, int n_formal, const SimUnitCode *to,
                          const PtxInst *p) {
    int n = list ? list->n : 0;
    SimCopy *copies = ARENA_ARRAY(k->l.arena, SimCopy, n + 1);
    if (n != n_formal) sim_link_error(&k->l, p, "has a wrong number of arguments");
    for (int e = 0; e < n && n == n_formal; e++) {
        const PtxOpnd *o = &list->elem[e];
        copies[e] = (SimCopy){.to = to->frame + formal[e]->offset, .bytes = formal[e]->bytes,
                              .slot = SLOT_NONE};
        bool frame = o->kind == OPND_SYMBOL && o->symbol->space == SPACE_LOCAL;
        if (frame && o->symbol->bytes >= formal[e]->bytes) {
            copies[e].from = from->frame + o->symbol->offset;
        } else {
            sim_link_error(&k->l, p, "passes what is not a .param variable of the right size");
        }
    }
    return copies;
}

/* call (results), name, (arguments);  results and arguments may be absent.  */
static bool link_call(SimLink *k, const SimUnitCode *u, SimInst *i, const PtxInst *p) {
    int at = 0;
    const PtxOpnd *out = at < p->n_opnd && p->opnd[at].kind == OPND_LIST ? &p->opnd[at++] : NULL;
    const PtxOpnd *name = at < p->n_opnd ? &p->opnd[at++] : NULL;
    const PtxOpnd *in = at < p->n_opnd && p->opnd[at].kind == OPND_LIST ? &p->opnd[at++] : NULL;
    if (!name || name->kind != OPND_FUNC || at != p->n_opnd) {
        return sim_link_error(&k->l, p, "is not a direct call");
    }
    const SimUnitCode *callee = find_unit(k, name->func);
    const PtxFunc *f = callee->f;
    SimCall *c = ARENA_NEW(k->l.arena, SimCall);
    c->in = copy_list(k, u, in, f->param, f->n_param, callee, p);
    c->n_in = in ? in->n : 0;
    c->out = copy_list(k, u, out, f->result, f->n_result, callee, p);
    c->n_out = out ? out->n : 0;
    for (int e = 0; e < c->n_out; e++) {           /* results travel the other way */
        int64_t swap = c->out[e].from;
        c->out[e].from = c->out[e].to;
        c->out[e].to = swap;
    }
    c->link = callee->link;
    i->extra = c;
    i->target = callee->start[0];
    return !k->l.failed;
}

static bool link_targets(SimLink *k, const SimUnitCode *u, SimInst *i, const PtxInst *p) {
    i->join = SLOT_NONE;
    if (p->op == OP_CALL) return link_call(k, u, i, p);
    if (p->op == OP_RET) {
        i->d = u->link;
        i->arg = u->f->kernel;
    }
    if (p->op != OP_BRA && p->op != OP_BRX) return true;
    i->join = join_of(u, p);
    if (p->op == OP_BRA) {
        i->target = u->start[p->opnd[0].target];
        return true;
    }
    const PtxTable *t = &u->f->table[p->opnd[1].target];
    uint32_t *target = ARENA_ARRAY(k->l.arena, uint32_t, t->n);
    for (int e = 0; e < t->n; e++) target[e] = u->start[t->target[e]];
    i->extra = target;
    i->arg = (uint16_t)t->n;
    return t->n <= 0xffff || sim_link_error(&k->l, p, "has too many targets");
}

/* Writes the instruction, and what goes with it, at code index `at`.  */
static bool link_inst(SimLink *k, const SimUnitCode *u, const PtxInst *p, uint32_t at) {
    SimInst *code = k->l.kernel->code;
    bool join = u->joins[p - u->f->inst];
    SimInst *i = &code[at + (uint32_t)join + (uint32_t)special_operands(p)];
    if (join) {
        code[at] = (SimInst){.exec = sim_exec_join, .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT,
                             .ptx = p};
        at++;
    }
    if (!sim_check_pattern(&k->l, p)) return false;
    SimOpnd *opnd = ARENA_ARRAY(k->l.arena, SimOpnd, p->n_opnd + 4);
    for (int n = 0; n < p->n_opnd; n++) {
        if (!sim_check_operand(&k->l, u, p, &p->opnd[n])) return false;
        if (p->opnd[n].kind == OPND_SREG && p->op != OP_MOV) {
            read_special(k, &code[at++], p, (PtxSreg)p->opnd[n].reg, &opnd[n]);
        } else {
            sim_link_operand(k, u, &p->opnd[n], &opnd[n]);
        }
    }
    Slot first[4];
    for (int n = 0; n < 4; n++) first[n] = n < p->n_opnd ? opnd[n].slot[0] : SLOT_NONE;
    *i = (SimInst){.d = first[0], .a = first[1], .b = first[2], .c = first[3],
                   .guard = p->guard < 0 ? SLOT_NONE : u->slot[p->guard],
                   .guard_flip = p->guard_not ? FULL_WARP : 0, .opnd = opnd,
                   .n_opnd = p->n_opnd, .ptx = p, .target = at + 1};
    for (int n = 0; n < p->n_opnd; n++) {
        if (opnd[n].kind == OPND_ADDRESS) i->offset = opnd[n].offset;
    }
    if (!choose(k, i, p) || !link_targets(k, u, i, p)) return false;
    if (p->op != OP_CALL) return true;
    i[1] = (SimInst){.exec = sim_exec_return_values, .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT,
                     .ptx = p, .extra = i->extra};
    i[2] = (SimInst){.exec = sim_exec_join, .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT, .ptx = p};
    return true;
}

/* The function returns after its last instruction.  */
static void link_end(SimLink *k, const SimUnitCode *u) {
    PtxInst *p = ARENA_NEW(k->l.arena, PtxInst);
    if (u->f->n_inst > 0) *p = u->f->inst[u->f->n_inst - 1];
    *p = (PtxInst){.op = OP_RET, .guard = -1, .line = p->line, .column = p->column,
                   .cu_file = p->cu_file, .cu_line = p->cu_line, .text = "ret"};
    SimInst *i = &k->l.kernel->code[u->start[u->f->n_inst]];
    *i = (SimInst){.guard = SLOT_NONE, .ptx = p};
    choose(k, i, p);
    i->d = u->link;
    i->arg = u->f->kernel;
    i->pipe = SIM_PIPE_COUNT;
}

/* ---- functions ---- */

static bool add_unit(SimLink *k, const PtxFunc *f, const PtxInst *from, int depth) {
    SimUnitCode *have = find_unit(k, f);
    if (have && have->open) return sim_link_error(&k->l, from, "is a recursive call");
    if (have) return true;
    if (!f->defined) return sim_link_error(&k->l, from, "calls %s, which has no body", f->name);
    if (depth > 100) return sim_link_error(&k->l, from, "is nested too deeply");
    k->unit = arena_grow(k->l.arena, k->unit, &k->cap_unit, k->n_unit + 1, sizeof *k->unit);
    size_t me = k->n_unit++;
    k->unit[me] = (SimUnitCode){.f = f, .open = true};
    for (size_t n = 0; n < f->n_inst; n++) {
        const PtxInst *i = &f->inst[n];
        for (int o = 0; i->op == OP_CALL && o < i->n_opnd; o++) {
            if (i->opnd[o].kind != OPND_FUNC) continue;
            if (!add_unit(k, i->opnd[o].func, i, depth + 1)) return false;
        }
    }
    k->unit[me].open = false;
    return true;
}

/* Registers, frame and code indices of one function.  */
static void lay_out(SimLink *k, SimUnitCode *u) {
    Arena *a = k->l.arena;
    const PtxFunc *f = u->f;
    SimKernel *out = k->l.kernel;
    u->cfg = sim_cfg(a, f);
    u->slot = ARENA_ARRAY(a, Slot, f->n_reg + 1);
    int live = sim_assign_slots(a, f, u->cfg, u->slot, &k->file_bytes);
    if (live > out->registers) out->registers = live;
    u->link = k->file_bytes;
    k->file_bytes += 128;
    u->frame = (out->local_bytes + 15) / 16 * 16;
    out->local_bytes = u->frame + f->frame_bytes;
    u->joins = ARENA_ARRAY(a, bool, f->n_inst + 1);
    for (int b = 0; b < u->cfg->n; b++) {
        const SimBasic *block = &u->cfg->block[b];
        if (block->n_succ > 1 && block->ipdom >= 0) {
            u->joins[u->cfg->block[block->ipdom].first] = true;
        }
    }
    u->start = ARENA_ARRAY(a, uint32_t, f->n_inst + 1);
    for (size_t n = 0; n < f->n_inst; n++) {
        u->start[n] = k->n_code;
        k->n_code += (uint32_t)u->joins[n] + (uint32_t)special_operands(&f->inst[n]) + 1;
        if (f->inst[n].op == OP_CALL) k->n_code += 2;
    }
    u->start[f->n_inst] = k->n_code++;
}

/* What the scheduler must know of the code.  */
static void properties(SimKernel *out) {
    for (uint32_t n = 0; n < out->n_code; n++) {
        const PtxInst *p = out->code[n].ptx;
        bool named = (p->op == OP_BAR || p->op == OP_BARRIER) &&
                     (p->n_opnd > 1 || ptx_has(&p->mods, MOD_ARRIVE));
        bool cluster = p->op == OP_CLUSTER_WAIT;
        if (named || cluster || (p->op >= OP_MBAR_INIT && p->op <= OP_MBAR_PENDING)) {
            out->partial_sync = true;
        }
        bool shared = ptx_has(&p->mods, MOD_SHARED) || ptx_has(&p->mods, MOD_SHARED_CTA) ||
                      ptx_has(&p->mods, MOD_SHARED_CLUSTER);
        bool atomic = p->op == OP_ATOM || p->op == OP_RED || p->op == OP_BULK_REDUCE ||
                      p->op == OP_TMA_REDUCE;
        bool waits = p->op == OP_LD && (ptx_has(&p->mods, MOD_ACQUIRE) ||
                                        ptx_has(&p->mods, MOD_VOLATILE) ||
                                        ptx_has(&p->mods, MOD_RELAXED));
        if ((atomic || waits) && !shared) out->serial = true;
    }
}

Status sim_link(Arena *a, Diag *d, const PtxModule *m, const PtxFunc *f, SimKernel **out) {
    SimLink k = {.l = {.arena = a, .diag = d, .m = m}};
    k.l.kernel = ARENA_NEW(a, SimKernel);
    k.l.kernel->func = f;
    k.l.kernel->dynamic_align = 16;
    PtxInst here = {.text = f->name, .line = f->line, .column = 1};
    if (!add_unit(&k, f, &here, 0)) return ST_SIMULATOR;
    for (size_t n = 0; n < k.n_unit; n++) lay_out(&k, &k.unit[n]);
    k.l.kernel->code = ARENA_ARRAY(a, SimInst, k.n_code);
    k.l.kernel->n_code = k.n_code;
    for (size_t n = 0; n < k.n_unit; n++) {
        const SimUnitCode *u = &k.unit[n];
        for (size_t t = 0; t < u->f->n_inst; t++) {
            if (!link_inst(&k, u, &u->f->inst[t], u->start[t])) return ST_SIMULATOR;
        }
        link_end(&k, u);
    }
    if (k.l.failed) return ST_SIMULATOR;
    if (k.shared_bytes >= 1 << SIM_RANK_SHIFT) {
        sim_link_error(&k.l, &here, "declares too much shared memory");
        return ST_SIMULATOR;
    }
    k.l.kernel->file_bytes = k.file_bytes;
    k.l.kernel->static_smem = (uint32_t)k.shared_bytes;
    k.l.kernel->konst = k.l.konst;
    k.l.kernel->n_konst = k.l.n_konst;
    properties(k.l.kernel);
    *out = k.l.kernel;
    return ST_OK;
}
