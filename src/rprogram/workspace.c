/* The workspace: what lives when, and where it lies.  */
#include "base/hash.h"
#include "rprogram/internal.h"

static int64_t round_up(int64_t v) {
    return ceil_div(v, WORKSPACE_STEP) * WORKSPACE_STEP;
}

static bool live_together(const WorkspaceBuffer *x, const WorkspaceBuffer *y) {
    return x->first <= y->last && y->first <= x->last;
}

/* The lowest place beside what is placed already and lives at the same time: `placed` is in order
 * of place.  */
static int64_t lowest(const WorkspaceBuffer *buffer, const int *placed, int n,
                      const WorkspaceBuffer *x) {
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        const WorkspaceBuffer *y = &buffer[placed[i]];
        if (!live_together(x, y)) continue;
        if (at + x->bytes <= y->at) break;
        if (at < y->at + y->bytes) at = y->at + y->bytes;
    }
    return at;
}

/* Places buffers in the order given; returns the bytes of the whole.  */
static int64_t place(WorkspaceBuffer *buffer, const int *order, int n, int *placed) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        WorkspaceBuffer *x = &buffer[order[i]];
        x->at = lowest(buffer, placed, i, x);
        int at = i;
        for (; at > 0 && buffer[placed[at - 1]].at > x->at; at--) placed[at] = placed[at - 1];
        placed[at] = order[i];
        if (x->at + x->bytes > bytes) bytes = x->at + x->bytes;
    }
    return bytes;
}

/* Orders to try: the largest first, those that live longest first, in order of birth.  */
typedef enum { BY_SIZE, BY_LIFE, BY_BIRTH, ORDERS } Order;

static bool comes_before(const WorkspaceBuffer *x, const WorkspaceBuffer *y, Order order) {
    int life_x = x->last - x->first, life_y = y->last - y->first;
    if (order == BY_BIRTH && x->first != y->first) return x->first < y->first;
    if (order == BY_LIFE && life_x != life_y) return life_x > life_y;
    return x->bytes > y->bytes;
}

static void sort(const WorkspaceBuffer *buffer, int n, Order by, int *order) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && comes_before(&buffer[i], &buffer[order[at - 1]], by); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static int64_t live_bound(const WorkspaceBuffer *buffer, int n) {
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        int64_t sum = 0;
        for (int j = 0; j < n; j++) {
            bool there = buffer[j].first <= buffer[i].first && buffer[i].first <= buffer[j].last;
            if (there) sum += buffer[j].bytes;
        }
        if (sum > most) most = sum;
    }
    return most;
}

/* The order with one buffer moved to another place: mostly an earlier one, of one at the top.  */
static void disturb(const Workspace *w, Rng *rng, int *order) {
    int n = w->n, from = (int)rng_below(rng, (uint32_t)n), to = (int)rng_below(rng, (uint32_t)n);
    for (int i = 0; i < n && rng_below(rng, 4); i++) {
        const WorkspaceBuffer *x = &w->buffer[order[from]];
        if (x->at + x->bytes == w->bytes) break;
        from = (from + 1) % n;
    }
    int moved = order[from];
    for (; from < to; from++) order[from] = order[from + 1];
    for (; from > to; from--) order[from] = order[from - 1];
    order[to] = moved;
}

void rprog_place_buffers(Arena *a, Workspace *w) {
    enum { WORK = 1 << 23, NEAR = 50 };   /* steps; near enough: the bound and a 50th */
    int n = w->n, tries = n ? WORK / (n * n) : 0;
    int *order = ARENA_ARRAY(a, int, n + 1), *best = ARENA_ARRAY(a, int, n + 1);
    int *placed = ARENA_ARRAY(a, int, n + 1);
    Rng rng = {1};
    w->bound = live_bound(w->buffer, n);
    w->bytes = n ? INT64_MAX : 0;
    for (int i = 0; i < ORDERS + tries && w->bytes > w->bound + w->bound / NEAR; i++) {
        if (i < ORDERS) {
            sort(w->buffer, n, (Order)i, order);
        } else {
            for (int k = 0; k < n; k++) order[k] = best[k];
            disturb(w, &rng, order);
        }
        int64_t bytes = place(w->buffer, order, n, placed);
        if (bytes > w->bytes) continue;
        w->bytes = bytes;
        for (int k = 0; k < n; k++) best[k] = order[k];
    }
    if (n) place(w->buffer, best, n, placed);
}

/* Does the group make (or read) the tensor?  */
static bool touches(const RPlan *plan, int group, int tensor, bool makes) {
    const KernelGroup *g = &plan->group[group];
    for (int i = 0; i <= g->n_fused; i++) {
        const TeStmt *s = &plan->te->stmt[i == 0 ? g->root : g->fused[i - 1]];
        if (makes ? s->tensor == tensor : access_reads_tensor(s->rhs, tensor)) return true;
    }
    return false;
}

/* The most that any program of the group needs.  */
static int64_t partial_bytes(const RPlan *plan, int group) {
    int64_t most = 0;
    for (int i = 0; i < plan->n; i++) {
        int64_t bytes = rplan_partial_bytes(plan, i);
        if (rplan_group_of(plan, i) == group && bytes > most) most = bytes;
    }
    return round_up(most);
}

void rprog_plan_workspace(Arena *a, const RPlan *plan, Workspace *out) {
    const Te *te = plan->te;
    int groups = rplan_groups(plan);
    *out = (Workspace){.buffer = ARENA_ARRAY(a, WorkspaceBuffer, te->n_tensor + plan->n)};
    for (int t = 0; t < te->n_tensor; t++) {
        const TeTensor *x = &te->tensor[t];
        if (x->role != TE_TEMP || !access_materialized(te, plan->group, groups, t)) continue;
        WorkspaceBuffer p = {.tensor = t, .first = -1, .bytes = te_dtype_bytes(x->dtype)};
        for (int d = 0; d < te_own_rank(x); d++) p.bytes *= x->shape[d].value;
        p.bytes = round_up(p.bytes > 0 ? p.bytes : 1);    /* kernels name it even if it is empty */
        for (int g = 0; g < groups; g++) {
            if (p.first < 0 && touches(plan, g, t, true)) p.first = g;
            if (touches(plan, g, t, false)) p.last = g;
        }
        if (p.last < p.first) p.last = p.first;
        out->buffer[out->n++] = p;
    }
    for (int g = 0; g < groups; g++) {
        int64_t bytes = partial_bytes(plan, g);
        if (bytes > 0)
            out->buffer[out->n++] =
                (WorkspaceBuffer){.tensor = -1, .first = g, .last = g, .bytes = bytes};
    }
    rprog_place_buffers(a, out);
}

int64_t rprog_partial_at(const Workspace *w, int group) {
    for (int i = 0; i < w->n; i++) {
        if (w->buffer[i].tensor < 0 && w->buffer[i].first == group) return w->buffer[i].at;
    }
    return -1;
}
