/* The code of a build: its source, by NVRTC.
 *
 * Programs for run-time sizes have many kernels, so each is compiled on its own, several at a time.
 * What comes of it is the same however many there are at a time: code in the order of the source,
 * and the first error in that order.  */
#include "base/clock.h"
#include "base/pool.h"
#include "driver/build/build.h"

#include <string.h>

typedef struct {
    const Build *b;
    Nvrtc *compiler;
    const NvrtcRequest *request;
    struct Piece *piece;
} Pieces;

typedef struct Piece {
    const Pieces *all;
    Arena *arena;
    Diag diag;
    NvrtcOutput out;
    Status status;
    int number;               /* of the kernel's text */
} Piece;

/* Line information names one file, and the lines of its kernels.  */
static bool in_pieces(const Build *b) {
    return b->program.select && b->program.n_text > 1 && !b->line_info;
}

/* One kernel with all that stands before the first, in lines that have the numbers that they have
 * in the whole source.  */
static const char *piece_source(Arena *a, const KernelProgram *p, int number) {
    Buf out = buf_new(a);
    size_t begin = p->text[number], line = 1;
    for (size_t i = 0; i <= begin; i++) line += p->source[i] == '\n';
    buf_add(&out, p->source, p->text[0]);
    buf_printf(&out, "\n#line %zu", line);
    buf_add(&out, p->source + begin, p->text[number + 1] - begin);
    return buf_str(&out);
}

static void compile_inner(void *user) {
    Piece *x = user;
    const Pieces *all = x->all;
    x->diag = diag_new(x->arena);
    x->status = watch_check(all->request->watch, &x->diag);
    if (x->status) return;
    const char *source = piece_source(x->arena, &all->b->program, x->number);
    x->status = nvrtc_compile(all->compiler, x->arena, &x->diag, source, all->b->arch,
                              all->request, &x->out);
}

static bool compile_piece(void *user, int64_t i, int worker) {
    (void)worker;
    Piece *x = &((const Pieces *)user)->piece[i];
    if (!arena_try(x->arena, compile_inner, x)) {
        x->status = ST_NOMEM;
        x->diag.count = 0;
    }
    return x->status == ST_OK;
}

/* Pieces are handed out in their order, so all before one that fails have been compiled.  */
static Status join(Arena *a, Arena *own, Diag *d, const Piece *x, int n, NvrtcOutput *out) {
    const NvrtcOutput **from = ARENA_ARRAY(own, const NvrtcOutput *, n);
    for (int i = 0; i < n; i++) {
        if (x[i].status == ST_NOMEM && !x[i].diag.count) arena_fail(a);
        if (x[i].status) return diag_repeat(d, diag_first_error(&x[i].diag));
        from[i] = &x[i].out;
    }
    nvrtc_join(a, from, n, out);
    return ST_OK;
}

static Status compile_pieces(Arena *a, Diag *d, Pieces *all, int threads, NvrtcOutput *out) {
    int n = all->b->program.n_text;
    Arena *own = arena_beside(a);
    double start = clock_now_s();
    all->piece = ARENA_ARRAY(own, Piece, n);
    for (int i = 0; i < n; i++)
        all->piece[i] = (Piece){.all = all, .number = i, .arena = arena_beside(own)};
    pool_for(threads, n, compile_piece, all);
    Status s = join(a, own, d, all->piece, n, out);
    out->ms = (clock_now_s() - start) * 1e3;
    arena_reset(own, (ArenaMark){0});
    return s;
}

Status build_code(Arena *a, Diag *d, const char *op, const BuildOptions *o, Build *b) {
    Nvrtc *compiler;
    Status s = nvrtc_open(a, d, &b->compiler, b->arch, &compiler);
    if (s) return s;
    nvrtc_version(compiler, &b->nvrtc_major, &b->nvrtc_minor);
    nvrtc_files(compiler, b->nvrtc_files);
    watch_note(o->watch, "compiling %s for %s with NVRTC %d.%d", op, b->arch, b->nvrtc_major,
               b->nvrtc_minor);
    NvrtcRequest request = {.ptx = true, .cubin = true, .line_info = b->line_info,
                            .level = b->level, .watch = o->watch};
    Pieces all = {.b = b, .compiler = compiler, .request = &request};
    s = in_pieces(b) ? compile_pieces(a, d, &all, o->threads, &b->nvrtc)
                     : nvrtc_compile(compiler, a, d, b->program.source, b->arch, &request,
                                     &b->nvrtc);
    b->compile_ms = b->nvrtc.ms;
    b->compiled = s == ST_OK;
    return s;
}
