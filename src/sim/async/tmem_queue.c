/* The Tensor Memory of a block, and what its unit has to do.  */
#include "sim/async/tmem.h"

#include <string.h>

static TmemLog *new_log(Arena *a) {
    TmemLog *log = ARENA_NEW(a, TmemLog);
    log->access = arena_grow(a, NULL, &log->room, 1, sizeof *log->access);
    log->access[0] = (TmemAccess){0};
    log->n = 1;                           /* 0 is none */
    return log;
}

TensorMemory *tmem_of(SimBlock *b) {
    AsyncBlock *s = async_block(b);
    if (s->tensor) return s->tensor;
    SimCluster *c = b->cluster;
    if (!async_of(c)->tensor) async_of(c)->tensor = new_log(c->arena);
    TensorMemory *t = s->tensor = ARENA_NEW(c->arena, TensorMemory);
    memset(t->cell, SIM_POISON, sizeof t->cell);
    return t;
}

SimBlock *tmem_peer(SimBlock *b) {
    SimCluster *c = b->cluster;
    int peer = b->rank ^ 1;
    return peer < c->n_block ? &c->block[peer] : NULL;
}

TmemWork *tmem_work(SimLane by) {
    TensorMemory *t = tmem_of(by.w->block);
    TmemWork *k = t->spare;
    if (k) t->spare = k->next;
    else k = ARENA_NEW(by.w->block->cluster->arena, TmemWork);
    *k = (TmemWork){.by = by};
    return k;
}

bool async_tensor_step(SimBlock *b) {
    TensorMemory *t = async_block(b)->tensor;
    TmemWork *k = t ? t->first : NULL;
    if (!k) return false;
    t->first = k->next;
    if (!t->first) t->last = NULL;
    if (!b->stop) k->run(k, b);
    k->next = t->spare;
    t->spare = k;
    sim_event(b->cluster);
    return true;
}

void tmem_issue(TmemWork *k) {
    SimBlock *b = k->by.w->block;
    TensorMemory *t = tmem_of(b);
    k->issued = b->cluster->time++;
    k->next = NULL;
    if (t->last) t->last->next = k;
    else t->first = k;
    t->last = k;
    sim_event(b->cluster);
    while (b->cluster->run->options->benign && async_tensor_step(b)) continue;
}
