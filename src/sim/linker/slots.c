/* Places of registers: liveness over the control flow graph, then one pass over the intervals.
 *
 * NVRTC names a new register for nearly every value.  Sharing places keeps the registers of a warp
 * within the first-level cache of the host.  Lanes write under their mask, so what is right for one
 * thread is right for all.  */
#include "sim/linker/link.h"

/* What an operand does to its registers.  */
typedef enum { ROLE_READ, ROLE_WRITE, ROLE_BOTH } Role;

static void visit_operand(const PtxOpnd *o, Role role,
                          void (*visit)(void *user, int reg, Role role), void *user) {
    if (o->kind == OPND_REG) visit(user, o->reg, role);
    Role inner = o->kind == OPND_ADDRESS ? ROLE_READ : role;
    for (int k = 0; k < o->n; k++) visit_operand(&o->elem[k], inner, visit, user);
}

/* Calls visit(user, register, role) for every register of an instruction, guard included.  */
static void visit_registers(const PtxInst *i, void (*visit)(void *user, int reg, Role role),
                            void *user) {
    const char *p = sim_op_pattern(i->op);
    bool any = p[0] == '*';
    for (int k = 0; k < i->n_opnd; k++) {
        if (*p == '/') p++;
        char c = any || !*p ? 'r' : *p++;
        Role role = c == 'd' ? ROLE_WRITE : c == 'r' ? ROLE_BOTH : ROLE_READ;
        visit_operand(&i->opnd[k], role, visit, user);
    }
    if (i->guard >= 0) visit(user, i->guard, ROLE_READ);
}

/* Elementwise instructions may write the place of a source that dies there.  */
static bool elementwise(PtxOp op) {
    return op >= OP_MOV && op <= OP_CVT_PACK && op != OP_MOV;
}

typedef struct {
    const PtxFunc *f;
    const SimCfg *cfg;
    size_t words;
    uint64_t *in, *out, *gen, *kill;      /* per block */
    int *begin, *end;                     /* interval of a register; begin -1: never used */
    int position;
    bool extend;                          /* reads last beyond the writes of their instruction */
    bool guarded, exclusive;
    uint64_t *g, *k;                      /* gen and kill of the block being scanned */
} Live;

static bool bit(const uint64_t *set, int r) { return set[r / 64] >> (r % 64) & 1; }
static void set_bit(uint64_t *set, int r) { set[r / 64] |= (uint64_t)1 << (r % 64); }

static void scan_read(void *user, int reg, Role role) {
    Live *v = user;
    if (role != ROLE_WRITE && !bit(v->k, reg)) set_bit(v->g, reg);
}

static void scan_write(void *user, int reg, Role role) {
    Live *v = user;
    if (role == ROLE_READ) return;
    if (v->guarded && !bit(v->k, reg)) set_bit(v->g, reg);   /* the old value may survive */
    if (!v->guarded) set_bit(v->k, reg);
}

static void gen_kill(Live *v) {
    for (int b = 0; b < v->cfg->n; b++) {
        v->g = v->gen + (size_t)b * v->words;
        v->k = v->kill + (size_t)b * v->words;
        for (int k = v->cfg->block[b].first; k < v->cfg->block[b].end; k++) {
            const PtxInst *i = &v->f->inst[k];
            v->guarded = i->guard >= 0;
            visit_registers(i, scan_read, v);
            visit_registers(i, scan_write, v);
        }
    }
}

static void flow(Live *v) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = v->cfg->n - 1; b >= 0; b--) {
            const SimBasic *block = &v->cfg->block[b];
            uint64_t *out = v->out + (size_t)b * v->words, *in = v->in + (size_t)b * v->words;
            for (int t = 0; t < block->n_succ; t++) {
                if (block->succ[t] == SIM_CFG_EXIT) continue;
                const uint64_t *next = v->in + (size_t)block->succ[t] * v->words;
                for (size_t w = 0; w < v->words; w++) out[w] |= next[w];
            }
            for (size_t w = 0; w < v->words; w++) {
                uint64_t now = v->gen[(size_t)b * v->words + w] |
                               (out[w] & ~v->kill[(size_t)b * v->words + w]);
                if (now != in[w]) changed = true;
                in[w] = now;
            }
        }
    }
}

static void cover(Live *v, int reg, int at) {
    if (v->begin[reg] < 0 || at < v->begin[reg]) v->begin[reg] = at;
    if (at > v->end[reg]) v->end[reg] = at;
}

static void cover_operand(void *user, int reg, Role role) {
    Live *v = user;
    if (v->exclusive) {
        cover(v, reg, 0);
        cover(v, reg, 2 * (int)v->f->n_inst + 1);
    }
    cover(v, reg, role == ROLE_READ ? v->position : v->position + 1);
    if (v->extend || role == ROLE_BOTH) cover(v, reg, v->position + 1);
}

static void intervals(Live *v) {
    for (int b = 0; b < v->cfg->n; b++) {
        const SimBasic *block = &v->cfg->block[b];
        const uint64_t *in = v->in + (size_t)b * v->words, *out = v->out + (size_t)b * v->words;
        for (size_t w = 0; w < v->words; w++) {
            for (uint64_t rest = in[w] | out[w]; rest; rest &= rest - 1) {
                int reg = (int)w * 64;
                for (uint64_t low = rest & (0 - rest); low > 1; low >>= 1) reg++;
                if (bit(in, reg)) cover(v, reg, 2 * block->first);
                if (bit(out, reg)) cover(v, reg, 2 * block->end);
            }
        }
        for (int k = block->first; k < block->end; k++) {
            const PtxInst *i = &v->f->inst[k];
            v->position = 2 * k;
            v->extend = !elementwise(i->op);
            v->exclusive = i->op == OP_WGMMA;
            visit_registers(i, cover_operand, v);
        }
    }
}

static uint32_t slot_bytes(PtxType t) {
    int bits = sim_type_bits(t);
    return bits == 1 ? 4 : bits <= 32 ? 128 : bits <= 64 ? 256 : 512;
}

/* Free places by size, as stacks.  */
typedef struct {
    Slot *free[4];
    int n[4];
} Places;

static int size_class(uint32_t bytes) {
    return bytes == 4 ? 0 : bytes == 128 ? 1 : bytes == 256 ? 2 : 3;
}

/* Predicates come 32 at a time, so that the other places stay aligned.  */
static Slot take_place(Places *p, uint32_t bytes, uint32_t *file_bytes) {
    int c = size_class(bytes);
    if (p->n[c] > 0) return p->free[c][--p->n[c]];
    Slot at = *file_bytes;
    *file_bytes += bytes == 4 ? 128 : bytes;
    for (uint32_t k = 31; bytes == 4 && k > 0; k--) p->free[c][p->n[c]++] = at + 4 * k;
    return at;
}

static int allocate(const Live *v, Arena *a, Slot *slot, uint32_t *file_bytes) {
    int n = (int)v->f->n_reg, last = 2 * (int)v->f->n_inst + 2, live = 0, most = 0;
    int *starts = ARENA_ARRAY(a, int, last + 1), *ends = ARENA_ARRAY(a, int, last + 1);
    int *next_start = ARENA_ARRAY(a, int, n), *next_end = ARENA_ARRAY(a, int, n);
    Places places;
    for (int c = 0; c < 4; c++) {
        places.free[c] = ARENA_ARRAY(a, Slot, n + LANES);
        places.n[c] = 0;
    }
    for (int r = n - 1; r >= 0; r--) {
        slot[r] = 0;
        if (v->begin[r] < 0) continue;
        next_start[r] = starts[v->begin[r]];
        starts[v->begin[r]] = r + 1;
        next_end[r] = ends[v->end[r]];
        ends[v->end[r]] = r + 1;
    }
    for (int at = 0; at <= last; at++) {
        for (int r = starts[at] - 1; r >= 0; r = next_start[r] - 1) {
            uint32_t bytes = slot_bytes(v->f->reg[r].type);
            slot[r] = take_place(&places, bytes, file_bytes);
            live += bytes == 4 ? 0 : (int)(bytes / 128);
            if (live > most) most = live;
        }
        for (int r = ends[at] - 1; r >= 0; r = next_end[r] - 1) {
            uint32_t bytes = slot_bytes(v->f->reg[r].type);
            int c = size_class(bytes);
            places.free[c][places.n[c]++] = slot[r];
            live -= bytes == 4 ? 0 : (int)(bytes / 128);
        }
    }
    return most;
}

int sim_assign_slots(Arena *a, const PtxFunc *f, const SimCfg *cfg, Slot *slot,
                     uint32_t *file_bytes) {
    ArenaMark mark = arena_mark(a);
    Live v = {.f = f, .cfg = cfg, .words = (f->n_reg + 63) / 64};
    size_t all = v.words * (size_t)cfg->n;
    v.in = ARENA_ARRAY(a, uint64_t, all);
    v.out = ARENA_ARRAY(a, uint64_t, all);
    v.gen = ARENA_ARRAY(a, uint64_t, all);
    v.kill = ARENA_ARRAY(a, uint64_t, all);
    v.begin = ARENA_ARRAY(a, int, f->n_reg);
    v.end = ARENA_ARRAY(a, int, f->n_reg);
    for (size_t r = 0; r < f->n_reg; r++) v.begin[r] = v.end[r] = -1;
    gen_kill(&v);
    flow(&v);
    intervals(&v);
    int most = allocate(&v, a, slot, file_bytes);
    arena_reset(a, mark);
    return most;
}
