#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under AddressSanitizer what was not handed out is poisoned and every object is followed by a gap,
 * so that an overrun inside an arena is found as surely as one on the heap.  */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { GAP = 0 };
#endif

enum { ALIGN = sizeof(max_align_t) > 16 ? 16 : sizeof(max_align_t) };
static const size_t first_block = 4096, last_block = (size_t)1 << 20;

typedef struct Block {
    struct Block *prev;
    size_t cap, used;
    size_t before;            /* bytes handed out from the blocks under this one */
    max_align_t data[];
} Block;

typedef struct Defer {
    struct Defer *prev;
    void (*fn)(void *p);
    void *p;
} Defer;

struct Arena {
    ArenaSource source;
    Block *block;             /* the newest; the only one that is handed out from */
    Block *spare;             /* kept by a reset, so that mark and reset in a loop cost no malloc */
    Defer *defers;
    jmp_buf *recover;
    Arena *beside;            /* recovers where this one has no point to; NULL: none does */
};

static void *system_alloc(size_t size, void *user) {
    (void)user;
    return malloc(size);
}

static void system_free(void *p, void *user) {
    (void)user;
    free(p);
}

static char *block_data(Block *b) { return (char *)b->data; }

static void block_free(Arena *a, Block *b) {
    ASAN_UNPOISON_MEMORY_REGION(block_data(b), b->cap);
    a->source.free(b, a->source.user);
}

Arena *arena_create(const ArenaSource *source) {
    static const ArenaSource system = {.alloc = system_alloc, .free = system_free};
    const ArenaSource *from = source ? source : &system;
    Arena *a = from->alloc(sizeof *a, from->user);
    if (a) *a = (Arena){.source = *from};
    return a;
}

void arena_destroy(Arena *a) {
    if (!a) return;
    arena_reset(a, (ArenaMark){0});
    if (a->spare) block_free(a, a->spare);
    a->source.free(a, a->source.user);
}

bool arena_try(Arena *a, void (*body)(void *user), void *user) {
    jmp_buf here;
    jmp_buf *const outer = a->recover;
    const ArenaMark mark = arena_mark(a);
    if (setjmp(here) == 0) {
        a->recover = &here;
        body(user);
        a->recover = outer;
        return true;
    }
    a->recover = outer;
    arena_reset(a, mark);
    return false;
}

static void destroy(void *p) { arena_destroy(p); }

Arena *arena_beside(Arena *a) {
    Arena *x = arena_create(&a->source);
    if (!x) arena_fail(a);
    x->beside = a;
    arena_defer(a, destroy, x);
    return x;
}

_Noreturn void arena_fail(Arena *a) {
    while (!a->recover && a->beside) a = a->beside;
    if (a->recover) longjmp(*a->recover, 1);
    abort();   /* lint: nobody is left to report to */
}

/* Bytes that an object of `size` takes in a block; 0 on overflow.  */
static size_t step(size_t size) {
    if (size == 0) size = 1;
    return size > SIZE_MAX / 2 ? 0 : (size + GAP + ALIGN - 1) / ALIGN * ALIGN;
}

static void push_block(Arena *a, size_t need) {
    Block *b = a->spare;
    if (b && b->cap >= need) {
        a->spare = NULL;
    } else {
        size_t cap = a->block ? a->block->cap * 2 : first_block;
        if (cap > last_block) cap = last_block;
        if (cap < need || a->source.exact) cap = need;
        b = a->source.alloc(sizeof *b + cap, a->source.user);
        if (!b) arena_fail(a);
        b->cap = cap;
    }
    b->prev = a->block;
    b->used = 0;
    b->before = arena_bytes(a);
    ASAN_POISON_MEMORY_REGION(block_data(b), b->cap);
    a->block = b;
}

/* Room for an object of `size`, which takes `need` bytes.  */
static void *take(Arena *a, size_t size, size_t need) {
    if (!a->block || a->block->cap - a->block->used < need) push_block(a, need);
    char *p = block_data(a->block) + a->block->used;
    a->block->used += need;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

void *arena_alloc(Arena *a, size_t size) {
    size_t need = step(size);
    if (need == 0) arena_fail(a);
    return memset(take(a, size, need), 0, size);
}

void *arena_calloc(Arena *a, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size) arena_fail(a);
    return arena_alloc(a, count * size);
}

void *arena_room(Arena *a, size_t count, size_t size) {
    size_t need = size && count > SIZE_MAX / size ? 0 : step(count * size);
    if (need == 0) arena_fail(a);
    return take(a, count * size, need);
}

/* The newest object grows in place where its block has room.  */
static bool extend(Arena *a, char *old, size_t size, size_t new_size) {
    Block *b = a->block;
    size_t now = step(size), then = step(new_size);
    if (!b || !then || old + now != block_data(b) + b->used) return false;
    if (then - now > b->cap - b->used) return false;
    b->used += then - now;
    ASAN_UNPOISON_MEMORY_REGION(old, new_size);
    memset(old + size, 0, new_size - size);
    return true;
}

void *arena_grow(Arena *a, void *old, size_t *cap, size_t need, size_t size) {
    if (need <= *cap) return old;
    size_t count = *cap < 8 ? 8 : *cap > SIZE_MAX / 2 ? need : *cap * 2;
    if (count < need) count = need;
    if (size && count > SIZE_MAX / size) arena_fail(a);
    if (!old || !extend(a, old, *cap * size, count * size)) {
        void *grown = arena_alloc(a, count * size);
        if (old) memcpy(grown, old, *cap * size);
        old = grown;
    }
    *cap = count;
    return old;
}

char *arena_strndup(Arena *a, const char *s, size_t len) {
    if (len == SIZE_MAX) arena_fail(a);
    char *p = arena_alloc(a, len + 1);
    if (len) memcpy(p, s, len);
    return p;
}

char *arena_strdup(Arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_vprintf(Arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (len < 0) arena_fail(a);
    char *p = arena_alloc(a, (size_t)len + 1);
    vsnprintf(p, (size_t)len + 1, fmt, ap);
    return p;
}

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

typedef struct {
    Arena *arena;
    Defer *defer;
} NewDefer;

static void new_defer(void *user) {
    NewDefer *n = user;
    n->defer = ARENA_NEW(n->arena, Defer);
}

void arena_defer(Arena *a, void (*fn)(void *p), void *p) {
    NewDefer n = {a, NULL};
    if (!arena_try(a, new_defer, &n)) {
        fn(p);
        arena_fail(a);
    }
    *n.defer = (Defer){a->defers, fn, p};
    a->defers = n.defer;
}

ArenaMark arena_mark(const Arena *a) {
    return (ArenaMark){a->block, a->block ? a->block->used : 0, a->defers};
}

void arena_reset(Arena *a, ArenaMark m) {
    while (a->defers != m.defers) {
        Defer *d = a->defers;
        a->defers = d->prev;
        d->fn(d->p);
    }
    while (a->block != m.block) {
        Block *b = a->block;
        a->block = b->prev;
        if (!a->spare && b->cap <= last_block && !a->source.exact) a->spare = b;
        else block_free(a, b);
    }
    if (!a->block) return;
    a->block->used = m.used;
    ASAN_POISON_MEMORY_REGION(block_data(a->block) + m.used, a->block->cap - m.used);
}

size_t arena_bytes(const Arena *a) { return a->block ? a->block->before + a->block->used : 0; }
