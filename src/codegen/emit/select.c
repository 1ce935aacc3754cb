/* What a launch takes at given sizes: a strategy of the plan, a program for each of its groups, and
 * the workspace of those.  */
#include "codegen/emit/emit.h"
#include "codegen/expr/sizes.h"

/* Bytes of a program's partial results: parts of rows are as many as there are rows, slices as many
 * as there are points of the domain.  */
static TeExtent partial_bytes(Arena *a, const RPlan *plan, int i) {
    const Problem *p = &plan->problem[i];
    const RProg *r = &plan->prog[i];
    int64_t bytes = rplan_partial_bytes(plan, i);
    TeExtent points = rplan_domain(a, plan->te, &plan->group[i]);
    if (r->stats == STATS_PARTIAL) return stats_bytes(a, p, r);
    if (bytes == 0 || !points.expr || rprog_workspace_fixed(p, r)) return size_number(bytes);
    int64_t most = rplan_domain(a, p->te, &plan->group[i]).value;
    int64_t each = (rprog_workspace(p, r) + most - 1) / most;     /* nothing lies there of none */
    return size_min(a, size_times(a, points, size_number(each)), size_number(bytes));
}

/* Of a group: the most of any of its programs, in the room that there is.  */
static TeExtent most_bytes(Arena *a, const RPlan *plan, const WorkspaceBuffer *x) {
    TeExtent most = size_number(0), room = size_number(x->bytes);
    for (int i = 0; i < plan->n; i++) {
        if (rplan_group_of(plan, i) != x->first) continue;
        most = size_max(a, most, partial_bytes(a, plan, i));
    }
    return most.expr ? size_min(a, most, room) : room;
}

static void lay_out_workspace(Arena *a, const RPlan *plan, KernelStrategy *out) {
    const Te *te = plan->te;
    rprog_plan_workspace(a, plan, &out->workspace);
    out->temp_offset = ARENA_ARRAY(a, int64_t, te->n_tensor);
    out->buffer_bytes = ARENA_ARRAY(a, TeExtent, out->workspace.n + 1);
    for (int t = 0; t < te->n_tensor; t++) out->temp_offset[t] = -1;
    for (int i = 0; i < out->workspace.n; i++) {
        const WorkspaceBuffer *x = &out->workspace.buffer[i];
        if (x->tensor < 0) {
            out->buffer_bytes[i] = most_bytes(a, plan, x);
            continue;
        }
        const TeTensor *t = &te->tensor[x->tensor];
        TeExtent bytes = size_number(te_dtype_bytes(t->dtype));
        for (int d = 0; d < te_own_rank(t); d++) bytes = size_times(a, bytes, t->shape[d]);
        out->buffer_bytes[i] = bytes.expr ? bytes : size_number(x->bytes);
        out->temp_offset[x->tensor] = x->at;
    }
}

/* The plan and its other splits: their programs, and where each keeps what.  */
void cg_lay_out(Arena *a, const RPlan *plan, KernelProgram *out) {
    out->select = plan->select;
    for (const RPlan *x = plan; x; x = x->other) {
        out->n_choice += x->n;
        out->n_strategy++;
    }
    out->choice = ARENA_ARRAY(a, KernelChoice, out->n_choice);
    out->strategy = ARENA_ARRAY(a, KernelStrategy, out->n_strategy);
    KernelStrategy *s = out->strategy;
    for (int at = 0; plan; at += plan->n, plan = plan->other, s++) {
        *s = (KernelStrategy){.decisions = te_decisions_text(a, plan->te), .first = at,
                              .n = plan->n, .n_group = rplan_groups(plan)};
        lay_out_workspace(a, plan, s);
        if (s->workspace.bytes > out->workspace_bytes) out->workspace_bytes = s->workspace.bytes;
        for (int i = 0; i < plan->n; i++)
            out->choice[at + i] = (KernelChoice){(int)(s - out->strategy), rplan_group_of(plan, i),
                                                 partial_bytes(a, plan, i)};
    }
}

KernelTaken cg_taken(const KernelProgram *p, const int64_t *size) {
    if (!p->select) return (KernelTaken){0, NULL};
    const RChoice *c = rplan_choose(p->select, size);
    return (KernelTaken){c->strategy, c->program};
}

int cg_program(const KernelProgram *p, KernelTaken t, int group) {
    return p->strategy[t.strategy].first + (t.program ? t.program[group] : group);
}

int64_t cg_blocks(const Te *te, const KernelProgram *p, const KernelLaunch *k, KernelTaken t,
                  const int64_t *size) {
    const KernelChoice *x = &p->choice[k->group];
    if (x->strategy != t.strategy || cg_program(p, t, x->group) != k->group) return 0;
    if (!k->blocks) return k->grid[0];
    return te_extent_eval(te, &(TeExtent){.value = k->grid[0], .expr = k->blocks}, size);
}

int64_t cg_resident(const Te *te, const KernelProgram *p, const KernelLaunch *k, KernelTaken t,
                    const int64_t *size, int64_t resident) {
    int64_t blocks = cg_blocks(te, p, k, t, size), together = k->cluster[0];
    if (!k->stays || blocks == 0 || resident < together) return blocks;
    int64_t wanted = te_extent_eval(te, &k->wanted, size);
    return resident < wanted ? resident - resident % together : wanted;
}

bool cg_overlaps(const Te *te, const KernelProgram *p, int i, KernelTaken t, const int64_t *size) {
    bool begun = false;
    for (int k = 0; k < i && p->kernel[i].waits && !begun; k++)
        begun = cg_blocks(te, p, &p->kernel[k], t, size) > 0;
    return begun;
}

int64_t cg_workspace(const Te *te, const KernelProgram *p, const int64_t *size) {
    KernelTaken t = cg_taken(p, size);
    const KernelStrategy *strategy = &p->strategy[t.strategy];
    int64_t need = 0;
    for (int i = 0; i < strategy->workspace.n; i++) {
        const WorkspaceBuffer *x = &strategy->workspace.buffer[i];
        const TeExtent *part = x->tensor < 0 ? &p->choice[cg_program(p, t, x->first)].slices
                                             : &strategy->buffer_bytes[i];
        int64_t bytes = te_extent_eval(te, part, size);
        if (bytes > 0 && x->at + bytes > need) need = x->at + bytes;
    }
    return need;
}
