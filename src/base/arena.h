/* Arena memory by lifetime.
 *
 * Takes: nothing.  Gives: zeroed memory that lives until the arena is reset past it or freed.
 * Out of memory is never returned: an allocation that fails unwinds to the nearest recovery point
 * of its arena (`arena_try`), so code between the API boundary and the allocation needs no checks
 * and every API call can report NOMEM.  What is not memory (a JSON tree, a FILE, an NVRTC program)
 * is tied to the arena with `arena_defer` and so survives no unwinding.
 * An arena serves one thread at a time.  */
#ifndef ROLLER_BASE_ARENA_H
#define ROLLER_BASE_ARENA_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Arena Arena;
typedef struct {
    void *block;
    size_t used;
    void *defers;
} ArenaMark;

/* The system allocator behind every arena.  Tests replace it to fail the n-th allocation.  */
typedef struct {
    void *(*alloc)(size_t size, void *user);
    void (*free)(void *p, void *user);
    void *user;
    bool exact;               /* ask for every object on its own, so that each can fail */
} ArenaSource;

/* A new arena; NULL source means malloc.  Returns NULL when there is no memory.  */
Arena *arena_create(const ArenaSource *source);
/* One for what lives as long as `a` is not reset, beside objects of `a` that come and go: its own
 * blocks, from the same source.  Where it finds no memory, `a` unwinds.  */
Arena *arena_beside(Arena *a);
/* Runs the pending defers, newest first, and gives the memory back.  NULL does nothing.  */
void arena_destroy(Arena *a);

/* Calls body(user).  Returns false if an allocation in `a` failed meanwhile; then what body had
 * allocated since is released.  Calls nest.  An allocation outside every arena_try aborts.  */
bool arena_try(Arena *a, void (*body)(void *user), void *user);

void *arena_alloc(Arena *a, size_t size);                  /* zeroed, aligned for any type */
void *arena_calloc(Arena *a, size_t count, size_t size);   /* an overflow counts as no memory */
/* As arena_calloc, but not zeroed: room for as many as there may be, of which few may be used and
 * only those cost anything.  */
void *arena_room(Arena *a, size_t count, size_t size);
/* Grows an array to hold at least `need` elements; `*cap` is the current and new capacity.  */
void *arena_grow(Arena *a, void *old, size_t *cap, size_t need, size_t size);
char *arena_strndup(Arena *a, const char *s, size_t len);
char *arena_strdup(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Runs fn(p) when the arena is freed or reset to a mark taken before this call; at once, before
 * unwinding, when there is no memory to remember it.  */
void arena_defer(Arena *a, void (*fn)(void *p), void *p);
/* Unwinds to the recovery point as if an allocation had failed (for foreign allocators).  */
_Noreturn void arena_fail(Arena *a);

ArenaMark arena_mark(const Arena *a);
void arena_reset(Arena *a, ArenaMark m);
size_t arena_bytes(const Arena *a);                        /* handed out since creation or reset */

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_calloc((a), (size_t)(n), sizeof(T)))
#define ARENA_ROOM(a, T, n) ((T *)arena_room((a), (size_t)(n), sizeof(T)))
#endif
