#include "codegen/blocks.h"

/* The text of syncs: barriers of warps, blocks, roles, clusters, barriers in shared memory, and
 * waits for groups of what is under way.  */

/* The slot of a ring of barriers, as text: of the step, or what frees the stage before.  */
static const char *slot(const Kernel *k, const Sync *s) {
    return s->lag > 0 ? "last" : ring_barrier(k, s->id);
}

/* The parity of the round that is waited for.  */
static const char *parity(const Sync *s) { return s->primed ? "phase ^ 1" : "phase"; }

static const char *only(const Kernel *k, const Node *n) {
    const Sync *s = &n->sync;
    const char *all = s->blocks > 0 ? cg_text(k->cg, "lane < %d", s->blocks) : NULL;
    const char *test = all ? all : s->by != BY_THREADS ? "lane == 0" : NULL;
    if (n->when == WHEN_LATER && s->lag > 0)
        test = both(k->cg, test, "taken > 0");
    return test ? cg_text(k->cg, "if (%s) ", test) : "";
}

static const char *barrier_text(const Kernel *k, const Node *n) {
    const Sync *s = &n->sync;
    const Cg *cg = k->cg;
    switch (s->op) {
    case SYNC_INIT:
        return cg_text(cg, "if (tid < STAGES) rl_barrier_init(shared + BARRIERS + (%d * STAGES + "
                       "tid) * 8, %d);", s->id, s->count);
    case SYNC_WAIT:
        return cg_text(cg, "rl_barrier_wait(%s, %s);", slot(k, s), parity(s));
    default:
        if (s->bytes)
            return cg_text(cg, "%srl_barrier_expect(%s, %lld);", only(k, n), slot(k, s),
                           (long long)s->bytes);
        if (s->blocks)
            return cg_text(cg, "%srl_barrier_arrive_at(%s, lane);", only(k, n), slot(k, s));
        return cg_text(cg, "%srl_barrier_arrive(%s);", only(k, n), slot(k, s));
    }
}

static const char *group_text(const Kernel *k, const Node *n) {
    const Sync *s = &n->sync;
    static const char *const name[] = {[SYNC_COPIES] = "rl_cp_async",
                                       [SYNC_PRODUCTS] = "rl_wgmma",
                                       [SYNC_BULK] = "rl_bulk"};
    if (s->op == SYNC_COMMIT) return cg_text(k->cg, "%s%s_commit();", only(k, n), name[s->scope]);
    return cg_text(k->cg, "%s%s_wait<%d>();", only(k, n), name[s->scope], s->count);
}

static const char *sync_text(const Kernel *k, const Node *n) {
    const Sync *s = &n->sync;
    const Cg *cg = k->cg;
    const char *verb = s->op == SYNC_ARRIVE ? "arrive" : s->op == SYNC_WAIT ? "wait" : "sync";
    switch (s->scope) {
    case SYNC_WARP: return "__syncwarp();";
    case SYNC_BLOCK: return "__syncthreads();";
    case SYNC_NAMED:
        if (s->team)
            return cg_text(cg, "rl_bar_%s_at<%d>(%s%d%s);", verb, s->count,
                           s->team == TEAM_OWN ? "team + " : "",
                           s->team == TEAM_OWN ? s->id : s->id + 1,
                           s->team == TEAM_OWN ? "" : " - team");
        return cg_text(cg, "rl_bar_%s<%d, %d>();", verb, s->id, s->count);
    case SYNC_CLUSTER: return cg_text(cg, "rl_cluster_%s();", verb);
    case SYNC_PROXY: return "rl_fence_proxy();";
    case SYNC_GRID: return "rl_next_may_begin();";
    case SYNC_BARRIER: return barrier_text(k, n);
    default: return group_text(k, n);
    }
}

void sync_print(Kernel *k, const Node *n) {
    if (n->sync.scope == SYNC_GRID && n->sync.op == SYNC_WAIT) {
        ir_wait(k->cg);
        return;
    }
    bool always = n->when != WHEN_LATER && n->when != WHEN_AGAIN && n->when != WHEN_FOLLOWED;
    if (always && n->sync.scope <= SYNC_BLOCK) {
        ir_sync(k->cg, n->sync.scope == SYNC_WARP ? IR_SYNC_WARP : IR_SYNC_BLOCK, n->note);
        return;
    }
    bool barrier = n->sync.scope == SYNC_BARRIER;
    const char *later = n->when == WHEN_LATER && !barrier ? "if (i > 0) " : "";
    if (n->when == WHEN_AGAIN) later = "if (from > 0) ";
    if (n->when == WHEN_FOLLOWED)
        later = cg_text(k->cg, "if (number + GRID < %s) ", place_tiles(k));
    cg_line(k->cg, "%s%s%s%s", later, sync_text(k, n), n->note ? "  // " : "",
            n->note ? n->note : "");
}
