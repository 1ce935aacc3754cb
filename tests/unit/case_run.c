#include "case_run.h"

Status case_run(KernelCase *c, TeFill fill, const SimOptions *o, Run *run) {
    Build *build = ARENA_NEW(c->arena, Build);
    TeData *in = ARENA_ARRAY(c->arena, TeData, c->te->n_in);
    *build = (Build){.program = c->program, .compiled = true, .nvrtc = c->code};
    for (int i = 0; i < c->te->n_in; i++) {
        in[i].bytes = te_tensor_bytes(&c->te->tensor[i]);
        in[i].data = arena_alloc(c->arena, in[i].bytes + 16);
        te_fill(c->te, i, fill, 1, in[i]);
    }
    *run = (Run){.te = c->te, .normal = c->normal, .build = build, .place = {.dev = c->dev},
                 .data = in, .size = ARENA_ARRAY(c->arena, int64_t, c->te->n_size + 1)};
    Status s = run_create(run, c->arena, &c->diag);
    run->options = *o;
    return s ? s : run_launch(run, c->arena, &c->diag, 0, NULL, 0);
}
