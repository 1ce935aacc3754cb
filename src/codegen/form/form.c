#include "codegen/form/form.h"
#include "rprogram/product.h"
#include <assert.h>
#include <string.h>

/* Building the tree of a kernel.  */

Form *form_begin(FormBuilder *b, Arena *a, const Layout *layout) {
    Form *f = ARENA_NEW(a, Form);
    Node *root = ARENA_NEW(a, Node);
    *root = (Node){.kind = NODE_SEQUENCE, .name = "kernel", .of = -1, .mover = -1};
    *f = (Form){.root = root, .layout = layout, .bodies = 1};
    *b = (FormBuilder){.arena = a, .layout = layout, .open = root};
    return f;
}

/* By which turns of the product go that nodes are about.  */
static int turns_of(const FormBuilder *b) {
    return b->product < b->layout->n_product ? b->layout->product[b->product].turns : 0;
}

Node *form_add(FormBuilder *b, NodeKind kind, int what) {
    Node *n = ARENA_NEW(b->arena, Node), **to = &b->open->child;
    *n = (Node){.kind = kind, .what = what, .product = b->product, .ring = turns_of(b), .of = -1,
                .mover = -1};
    while (*to) to = &(*to)->next;
    *to = n;
    return n;
}

Node *form_open(FormBuilder *b, NodeKind kind, int what) {
    Node *n = form_add(b, kind, what);
    n->outer = b->open;
    b->open = n;
    return n;
}

void form_close(FormBuilder *b) { b->open = b->open->outer; }

Node *form_sequence(FormBuilder *b, const char *name) {
    Node *n = form_open(b, NODE_SEQUENCE, 0);
    n->name = name;
    return n;
}

Node *form_if(FormBuilder *b, When when, int ahead) {
    Node *n = form_open(b, NODE_IF, 0);
    n->when = when;
    n->ahead = ahead;
    return n;
}

Node *form_sync(FormBuilder *b, SyncScope scope, SyncOp op, int count) {
    Node *n = form_add(b, NODE_SYNC, 0);
    n->sync = (Sync){.scope = scope, .op = op, .count = count};
    return n;
}

void form_wait(FormBuilder *b, Form *f) { f->wait = form_sync(b, SYNC_GRID, SYNC_WAIT, 0); }

static Node *sync_grids(Arena *a, SyncOp op, Node **at) {
    Node *n = ARENA_NEW(a, Node);
    *n = (Node){.kind = NODE_SYNC, .of = -1, .mover = -1, .next = *at,
                .sync = {.scope = SYNC_GRID, .op = op}};
    return *at = n;
}

void form_wait_first(Arena *a, Form *f) {
    if (!f->wait) f->wait = sync_grids(a, SYNC_WAIT, &f->root->child);
}

void form_next(Arena *a, Form *f) {
    sync_grids(a, SYNC_ARRIVE, f->wait ? &f->wait->next : &f->root->child);
}

Node *form_block_sync(FormBuilder *b) { return form_sync(b, SYNC_BLOCK, SYNC_BOTH, 0); }

static Use *add_use(FormBuilder *b, Node *n, const Room *room, bool writes) {
    assert(room);
    if (n->n_use == n->room_use) {
        int more = n->n_use ? 2 * n->n_use : 4;
        Use *use = ARENA_ARRAY(b->arena, Use, more);
        if (n->n_use > 0) memcpy(use, n->use, (size_t)n->n_use * sizeof *use);
        n->use = use;
        n->room_use = more;
    }
    Use *u = &n->use[n->n_use++];
    *u = (Use){.room = room, .share = SHARE_BLOCK, .writes = writes};
    return u;
}

Use *form_reads(FormBuilder *b, Node *n, RoomKind kind, int of) {
    return add_use(b, n, rprog_room(b->layout, kind, of), false);
}

Use *form_writes(FormBuilder *b, Node *n, RoomKind kind, int of) {
    return add_use(b, n, rprog_room(b->layout, kind, of), true);
}

const char *form_kind_name(NodeKind kind) {
    static const char *const name[] = {
#define X(id, name) name,
        FORM_KINDS(X)
#undef X
    };
    return name[kind];
}

bool form_uniform(When when, bool block) {
    static const bool uniform[][2] = {
#define X(id, text, block, warp) {warp, block},
        FORM_CONDITIONS(X)
#undef X
    };
    return uniform[when][block];
}

const char *form_when_text(When when) {
    static const char *const texts[] = {
#define X(id, text, block, warp) text,
        FORM_CONDITIONS(X)
#undef X
    };
    return texts[when];
}
