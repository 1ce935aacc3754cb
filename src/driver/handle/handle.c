#include "driver/handle/handle.h"
#include <stdlib.h>
#include <string.h>

Arena *call_arena(RollerCtx *ctx) {
    return arena_create(ctx->own_source ? &ctx->source : NULL);
}

void handle_init(Handle *h, Arena *a) {
    *h = (Handle){.arena = a};
    atomic_init(&h->refs, 1);
}

void handle_keep(Handle *h) { atomic_fetch_add(&h->refs, 1); }

void handle_hold(Handle *child, int slot, Handle *parent) {
    handle_keep(parent);
    child->parent[slot] = parent;
}

void handle_release(Handle *h) {
    if (!h || atomic_fetch_sub(&h->refs, 1) != 1) return;
    Handle *parent[HANDLE_PARENTS];
    memcpy(parent, h->parent, sizeof parent);
    arena_destroy(h->arena);
    for (int i = 0; i < HANDLE_PARENTS; i++) handle_release(parent[i]);
}

void api_options(void *to, size_t size, const void *from) {
    memset(to, 0, size);
    if (!from) return;
    size_t given = *(const size_t *)from;
    memcpy(to, from, given < size ? given : size);
}

void api_report(void *to, void *from, size_t size) {
    size_t known = *(const size_t *)to;
    *(size_t *)from = known;
    memcpy(to, from, known < size ? known : size);
}

/* ---- one API call ---- */
typedef struct {
    RollerCtx *ctx;
    Arena *owned;
    CallBody body;
    void *user;
    Status status;
} Call;

static void run_body(void *p) {
    Call *c = p;
    c->status = c->body(c->ctx, c->user);
}

static void run_owned(void *p) {
    Call *c = p;
    if (!c->owned) run_body(c);
    else if (!arena_try(c->owned, run_body, c)) c->status = ST_NOMEM;
}

static void keep_messages(void *p) {
    Call *c = p;
    RollerCtx *ctx = c->ctx;
    Buf errors = buf_new(ctx->call), warnings = buf_new(ctx->call);
    for (int i = 0; i < ctx->diag.count; i++) {
        const DiagMessage *m = &ctx->diag.messages[i];
        diag_render(m, ctx->program, ctx->color, m->kind == DIAG_ERROR ? &errors : &warnings);
    }
    ctx->warnings = buf_str(&warnings);
    for (int i = 0; i < ctx->diag.count; i++) {
        const DiagMessage *m = &ctx->diag.messages[i];
        watch_log(&ctx->watch, m->kind == DIAG_ERROR ? WATCH_ERROR : WATCH_WARNING, m->message);
    }
    /* What fails without words, as lack of memory does, has those of its status.  */
    const DiagMessage *m = diag_first_error(&ctx->diag);
    const DiagMessage bare = {.status = c->status, .message = status_text(c->status)};
    if (c->status && (!m || (c->status == ST_NOMEM && m->status != ST_NOMEM))) {
        m = &bare;
        diag_render(m, ctx->program, ctx->color, &errors);
    }
    if (!m) return;
    ctx->error = (RollerError){.struct_size = sizeof ctx->error,
                               .status = (RollerStatus)c->status,
                               .tag = m->tag ? m->tag : "",
                               .file = m->file,
                               .line = m->line,
                               .column = m->column,
                               .message = m->message,
                               .hint = m->hint,
                               .rendered = buf_str(&errors),
                               .cuda = m->code.of == DIAG_CUDA ? m->code.number : 0,
                               .nvrtc = m->code.of == DIAG_NVRTC ? m->code.number : 0,
                               .code_name = m->code.name ? m->code.name : ""};
}

RollerStatus call_nomem(RollerCtx *ctx) {
    ctx->error = (RollerError){.struct_size = sizeof ctx->error, .status = ROLLER_NOMEM, .tag = "",
                               .message = status_text(ST_NOMEM), .rendered = ctx->no_memory,
                               .code_name = ""};
    ctx->warnings = "";
    ctx->status = ST_NOMEM;
    return ROLLER_NOMEM;
}

RollerStatus call_run(RollerCtx *ctx, Arena *owned, CallBody body, void *user) {
    arena_reset(ctx->call, (ArenaMark){0});
    ctx->diag = diag_new(ctx->call);
    ctx->warnings = "";
    ctx->cache.notes = buf_new(ctx->call);
    ctx->cache.hit = false;
    watch_again(&ctx->watch);
    Call c = {.ctx = ctx, .owned = owned, .body = body, .user = user, .status = ST_INTERNAL};
    if (!arena_try(ctx->call, run_owned, &c)) {
        c.status = ST_NOMEM;
        ctx->diag = diag_new(ctx->call);              /* what was said is gone with the call */
    }
    if (!arena_try(ctx->call, keep_messages, &c)) return call_nomem(ctx);
    ctx->status = c.status;
    return (RollerStatus)c.status;
}
