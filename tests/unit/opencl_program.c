/* links: codegen */
#include "opencl_program.h"
#include "judge.h"
#include "opencl.h"

#include <string.h>

/* One kind of data: buffers of the job from `first` on, arguments and then the workspace.  */
typedef struct {
    TeFill fill;
    bool exact;
    int first;
    TeData *argument;         /* inputs, then outputs; te->tensor[i] */
} DataSet;

typedef struct {
    Arena *arena;
    Diag *diag;
    const Te *te, *fixed;     /* as it was planned; at the sizes */
    const KernelProgram *program;
    const int64_t *size;
    KernelTaken taken;
    DataSet set[TE_FILLS];
    int n_set;
    OpenclBuffer *buffer;
    OpenclLaunch *launch;
    int n_launch;
} Proof;

enum { POISON = 0xA5, ALIGN = 16 };

/* ---- memory ---- */

static size_t argument_bytes(const Te *te, int i) {
    const TeTensor *t = &te->tensor[i];
    return t->role == TE_VALUE ? (size_t)te_dtype_bytes(t->dtype) : te_tensor_bytes(t);
}

static void take_memory(Proof *p, DataSet *s, uint64_t seed) {
    const Te *te = p->fixed;
    int n = te->n_in + te->n_out;
    s->argument = ARENA_ARRAY(p->arena, TeData, n + 1);
    for (int i = 0; i <= n; i++) {
        size_t bytes = i < n ? argument_bytes(te, i) : (size_t)p->program->workspace_bytes;
        s->argument[i] = (TeData){arena_alloc(p->arena, bytes + ALIGN), bytes};
        memset(s->argument[i].data, POISON, bytes);
        if (i < te->n_in) te_fill(te, i, s->fill, seed, s->argument[i]);
        p->buffer[s->first + i] = (OpenclBuffer){s->argument[i].data, bytes};
    }
}

static void add_set(Proof *p, TeFill fill, bool exact, uint64_t seed) {
    DataSet *s = &p->set[p->n_set];
    *s = (DataSet){fill, exact, p->n_set * (p->te->n_in + p->te->n_out + 1), NULL};
    p->n_set++;
    take_memory(p, s, seed);
}

/* ---- launches ---- */

/* A part of the workspace ends where the next one begins that the kernel is given.  */
static size_t part_bytes(const Proof *p, const KernelLaunch *k, int64_t at) {
    int64_t end = p->program->workspace_bytes;
    for (int i = 0; i < k->n_param; i++) {
        const KernelParam *x = &k->param[i];
        if (x->kind == PARAM_WORKSPACE && x->offset > at && x->offset < end) end = x->offset;
    }
    return (size_t)(end - at);
}

static OpenclArg argument(const Proof *p, const DataSet *s, const KernelLaunch *k, int i) {
    const KernelParam *x = &k->param[i];
    switch (x->kind) {
    case PARAM_WORKSPACE:
        return (OpenclArg){.buffer = s->first + p->te->n_in + p->te->n_out,
                           .at = (size_t)x->offset, .bytes = part_bytes(p, k, x->offset)};
    case PARAM_SCALAR:
        return (OpenclArg){.scalar = s->argument[x->ref].data, .bytes = (size_t)x->bytes};
    case PARAM_SIZE: {
        int32_t *value = ARENA_NEW(p->arena, int32_t);
        *value = (int32_t)p->size[x->ref];
        return (OpenclArg){.scalar = value, .bytes = sizeof *value};
    }
    default: return (OpenclArg){.buffer = s->first + x->ref};
    }
}

static void add_launch(Proof *p, const DataSet *s, const KernelLaunch *k) {
    int64_t blocks = cg_blocks(p->te, p->program, k, p->taken, p->size);
    if (blocks == 0) return;
    OpenclArg *arg = ARENA_ARRAY(p->arena, OpenclArg, k->n_param + 1);
    for (int i = 0; i < k->n_param; i++) arg[i] = argument(p, s, k, i);
    p->launch[p->n_launch++] = (OpenclLaunch){
        .kernel = k->symbol, .grid = {(size_t)blocks, (size_t)k->grid[1], (size_t)k->grid[2]},
        .block = {(size_t)k->block[0]}, .arg = arg, .n_arg = k->n_param};
}

static const char *run(Proof *p) {
    const KernelProgram *program = p->program;
    for (int s = 0; s < p->n_set; s++) {
        for (int i = 0; i < program->n_kernel; i++)
            add_launch(p, &p->set[s], &program->kernel[i]);
    }
    OpenclJob job = {program->source, p->buffer, p->n_set * (p->te->n_in + p->te->n_out + 1),
                     p->launch, p->n_launch, 0};
    return opencl_run(p->arena, &job);
}

const char *opencl_prove(Arena *a, Diag *d, const Te *te, const KernelProgram *program,
                         const int64_t *size, uint64_t seed) {
    Proof p = {.arena = a, .diag = d, .te = te, .fixed = te, .program = program, .size = size,
               .taken = cg_taken(program, size)};
    int arguments = te->n_in + te->n_out;
    if (size && te_specialize(a, d, te, size, &p.fixed)) return "the sizes are not allowed";
    p.buffer = ARENA_ARRAY(a, OpenclBuffer, TE_FILLS * (arguments + 1));
    p.launch = ARENA_ARRAY(a, OpenclLaunch, TE_FILLS * program->n_kernel + 1);
    if (te_exact(p.fixed)) add_set(&p, TE_FILL_INTEGERS, true, seed);
    add_set(&p, TE_FILL_REALS, false, seed);
    add_set(&p, TE_FILL_EXTREMES, true, seed);
    const char *wrong = run(&p);
    for (int s = 0; s < p.n_set && !wrong; s++) {
        const DataSet *x = &p.set[s];
        wrong = judge_outputs(a, d, p.fixed, x->argument, x->argument + te->n_in, x->exact);
    }
    return wrong;
}
