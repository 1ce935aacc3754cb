/* Linking: a kernel and the functions it calls become one flat array of instructions.
 *
 * Every function has its own registers and its own frame in local memory; of one that may call
 * itself both are kept in a stack (link_call.c).  Before an instruction that is a reconvergence
 * point stands a join; the join of a branch is known here, once and for all.  What the simulator
 * does not know is refused when it is reached: code that never runs need not be known.  */
#include "sim/linker/link.h"
#include "sim/lane/pick.h"

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

/* ---- instructions ---- */

static bool choose(SimLink *k, const SimFuncCode *u, SimInst *i, const PtxInst *p) {
    SimPick pick = {.arena = k->l.arena, .i = i, .p = p, .func = u->f, .left = p->mods,
                    .sm = k->l.m->sm,
                    .old_strides = k->l.m->version_major * 10 + k->l.m->version_minor < 85};
    i->pipe = (uint8_t)pipes[p->op];
    i->aligned = p->op == OP_BAR || ptx_has(&p->mods, MOD_ALIGNED);
    i->exec = picks[p->op](&pick);
    if (!i->exec || pick.why) {
        return sim_link_error(&k->l, p, "%s", pick.why ? pick.why : "is not simulated");
    }
    PtxMod left = ptx_first(&pick.left);
    if (left < MOD_COUNT) return sim_link_error(&k->l, p, "does not take .%s", sim_mod_name(left));
    if (pick.next_type == p->n_type) return true;
    return sim_link_error(&k->l, p, "does not take .%s", sim_type_name(p->type[pick.next_type]));
}

/* What has no register of its own is read into one first: special registers outside mov, addresses
 * of variables in the stack outside an address operand.  */
static bool has_to_be_read(const SimFuncCode *u, const PtxInst *i, const PtxOpnd *o) {
    if (o->kind == OPND_SREG) return i->op != OP_MOV;
    return o->kind == OPND_SYMBOL && o->symbol->space == SPACE_LOCAL && u->recursive &&
           i->op != OP_CALL;
}

static int special_operands(const SimFuncCode *u, const PtxInst *i) {
    int n = 0;
    for (int k = 0; k < i->n_opnd; k++) n += has_to_be_read(u, i, &i->opnd[k]);
    return n;
}

static void read_special(SimLink *k, const SimFuncCode *u, SimInst *at, const PtxInst *p,
                         const PtxOpnd *o, SimOpnd *operand) {
    Slot *slot = ARENA_ARRAY(k->l.arena, Slot, 1);
    *slot = k->file_bytes;
    k->file_bytes += 256;
    int bits = o->kind == OPND_SREG ? o->reg == SREG_IS_EXPLICIT_CLUSTER ? 1 : 32
               : p->n_type && sim_type_bits(p->type[0]) == 32            ? 32
                                                                         : 64;
    *operand = (SimOpnd){.kind = OPND_REG, .n = 1, .slot = slot, .bits = (uint8_t)bits,
                         .wide = bits == 64};
    *at = (SimInst){.exec = sim_exec_read_sreg, .d = *slot, .arg = (uint16_t)o->reg,
                    .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT, .ptx = p};
    if (o->kind == OPND_SREG) return;
    at->exec = sim_exec_frame_address;
    at->a = u->frame.base;
    at->offset = o->symbol->offset + o->offset;
    at->flags = bits == 64;
}

static uint32_t join_of(const SimFuncCode *u, const PtxInst *p) {
    int b = u->cfg->of[p - u->f->inst], to = u->cfg->block[b].ipdom;
    return to < 0 ? SLOT_NONE : u->start[u->cfg->block[to].first];
}

static bool link_targets(SimLink *k, const SimFuncCode *u, SimInst *i, const PtxInst *p) {
    i->join = SLOT_NONE;
    if (p->op == OP_CALL) return sim_link_call(k, u, i, p);
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
static bool link_inst(SimLink *k, const SimFuncCode *u, const PtxInst *p, uint32_t at) {
    SimInst *code = k->l.kernel->code;
    SimInst *i = &code[at + (uint32_t)special_operands(u, p)];
    if (p->op == OP_UNKNOWN) k->l.why = p->why;
    if (k->l.why) return false;
    if (!sim_check_pattern(&k->l, p)) return false;
    SimOpnd *opnd = ARENA_ARRAY(k->l.arena, SimOpnd, p->n_opnd + 4);
    for (int n = 0; n < p->n_opnd; n++) {
        if (!sim_check_operand(&k->l, u, p, &p->opnd[n])) return false;
        if (has_to_be_read(u, p, &p->opnd[n])) {
            read_special(k, u, &code[at++], p, &p->opnd[n], &opnd[n]);
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
    return choose(k, u, i, p) && link_targets(k, u, i, p);
}

/* The code of an instruction, join included; if it is refused, it tells so when it is reached.  */
static void link_known(SimLink *k, const SimFuncCode *u, size_t n) {
    SimInst *code = k->l.kernel->code;
    const PtxInst *p = &u->f->inst[n];
    uint32_t at = u->start[n];
    if (u->joins[n]) {
        code[at++] = (SimInst){.exec = sim_exec_join, .guard = SLOT_NONE, .pipe = SIM_PIPE_COUNT,
                               .ptx = p};
    }
    k->l.why = NULL;
    if (link_inst(k, u, p, at)) return;
    for (; at < u->start[n + 1]; at++) {
        code[at] = (SimInst){.exec = sim_exec_refused, .ptx = p, .extra = k->l.why,
                             .guard = p->guard < 0 ? SLOT_NONE : u->slot[p->guard],
                             .guard_flip = p->guard_not ? FULL_WARP : 0,
                             .pipe = SIM_PIPE_COUNT};
    }
}

/* The function returns after its last instruction.  */
static void link_end(SimLink *k, const SimFuncCode *u) {
    PtxInst *p = ARENA_NEW(k->l.arena, PtxInst);
    if (u->f->n_inst > 0) *p = u->f->inst[u->f->n_inst - 1];
    *p = (PtxInst){.op = OP_RET, .guard = -1, .line = p->line, .column = p->column,
                   .cu_file = p->cu_file, .cu_line = p->cu_line, .text = "ret"};
    SimInst *i = &k->l.kernel->code[u->start[u->f->n_inst]];
    *i = (SimInst){.guard = SLOT_NONE, .ptx = p};
    choose(k, u, i, p);
    i->d = u->link;
    i->arg = u->f->kernel;
    i->pipe = SIM_PIPE_COUNT;
}

/* ---- functions ---- */

/* Registers, frame and code indices of one function.  */
static void lay_out(SimLink *k, SimFuncCode *u) {
    Arena *a = k->l.arena;
    const PtxFunc *f = u->f;
    SimKernel *out = k->l.kernel;
    u->cfg = sim_cfg(a, f);
    u->slot = ARENA_ARRAY(a, Slot, f->n_reg + 1);
    int live = sim_assign_slots(a, f, u->cfg, u->slot, &k->file_bytes);
    if (live > out->registers) out->registers = live;
    u->link = k->file_bytes;
    k->file_bytes += 128;
    u->frame.base = SLOT_NONE;
    if (u->recursive) {
        sim_link_stack(k, u);
    } else {
        u->at = (out->local_bytes + 15) / 16 * 16;
        out->local_bytes = u->at + f->frame_bytes;
    }
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
        k->n_code += (uint32_t)u->joins[n] + (uint32_t)special_operands(u, &f->inst[n]) + 1;
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
        bool leaves = sim_multiplies(&out->code[n]) || p->op == OP_BULK ||
                      p->op == OP_BULK_REDUCE || p->op == OP_TMA || p->op == OP_TMA_REDUCE;
        if (leaves) out->partial_sync = out->reads_later = true;
        if (p->op == OP_TC_CP) out->untimed = p;
        if (p->op == OP_CLC_TRY) out->cancels = true;
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
    sim_link_funcs(&k, f);
    for (size_t n = 0; n < k.n_func; n++) lay_out(&k, &k.func[n]);
    k.l.kernel->code = ARENA_ARRAY(a, SimInst, k.n_code);
    k.l.kernel->n_code = k.n_code;
    for (size_t n = 0; n < k.n_func; n++) {
        const SimFuncCode *u = &k.func[n];
        for (size_t t = 0; t < u->f->n_inst; t++) link_known(&k, u, t);
        link_end(&k, u);
    }
    if (k.shared_bytes >= 1 << SIM_RANK_SHIFT) {
        return diag_error(d, ST_SIMULATOR, "ptx", DIAG_NOWHERE,
                          "%s declares too much shared memory", f->name);
    }
    k.l.kernel->file_bytes = k.file_bytes;
    k.l.kernel->static_smem = (uint32_t)k.shared_bytes;
    k.l.kernel->konst = k.l.konst;
    k.l.kernel->n_konst = k.l.n_konst;
    properties(k.l.kernel);
    *out = k.l.kernel;
    return ST_OK;
}
