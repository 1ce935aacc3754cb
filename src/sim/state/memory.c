#include "base/sparse.h"
#include "sim/state/memory_state.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of which it has a part at least; mapped memory may begin within one.  */
static size_t lines_of(const SimGpu *g, const SimAlloc *x) {
    return (size_t)(x->bytes / g->line + 2);
}

/* Bytes of a bit per sector, of a flag per piece of these, of a number and of a use per line, of a
 * bit per byte.  */
static size_t sectors_room(const SimAlloc *x) { return sim_sector_words(x) * sizeof *x->loaded; }
static size_t marks_room(const SimAlloc *x) { return sim_sector_words(x) / SIM_MARKED + 1; }
static size_t lines_room(const SimGpu *g, const SimAlloc *x) { return lines_of(g, x) * 8; }
static size_t uses_room(const SimGpu *g, const SimAlloc *x) {
    return lines_of(g, x) * sizeof *x->use;
}
static size_t written_room(const SimAlloc *x) { return (size_t)(x->bytes / 64 + 1) * 8; }

static void forget_notes(const SimGpu *g, SimAlloc *x) {
    sparse_free(x->loaded, sectors_room(x));
    sparse_free(x->stored, sectors_room(x));
    sparse_free(x->marked, marks_room(x));
    sparse_free(x->touched, lines_room(g, x));
    sparse_free(x->use, uses_room(g, x));
    x->loaded = x->stored = x->touched = NULL;
    x->marked = NULL;
    x->use = NULL;
}

/* The data, and all that is noted of it.  */
static void release(const SimGpu *g, SimAlloc *x) {
    lazy_close(&x->memory);
    forget_notes(g, x);
    sim_overlap_forget(x);
    sparse_free(x->owner, sim_owner_room(x));
    sparse_free(x->written, written_room(x));
    x->owner = NULL;
    x->written = NULL;
}

static void release_all(void *p) {
    SimGpu *g = p;
    for (size_t k = 0; k < g->n_alloc; k++) release(g, &g->alloc[k]);
    free(g->alloc);
}

/* Lines of whole sectors, of which an allocation holds whole ones.  */
static uint32_t line_bytes(const MemoryLevel *l2) {
    uint32_t line = SIM_SECTOR;
    while (2 * line <= l2->line.value && line < 64 * SIM_SECTOR) line *= 2;
    return l2->line.value > 0 ? line : 4 * SIM_SECTOR;
}

Status sim_gpu_create(Arena *a, Diag *d, const Device *dev, SimGpu **out) {
    Status s = hal_need_cuda(d, dev);
    *out = NULL;
    if (s) return s;
    SimGpu *g = ARENA_NEW(a, SimGpu);
    g->arena = a;
    g->dev = dev;
    g->next = SIM_GLOBAL_BASE;
    const MemoryLevel *smem = &dev->memory[LEVEL_SMEM];
    g->banks.n = smem->banks.value > 0 ? (uint32_t)smem->banks.value : 32;
    g->banks.width = 1;
    while (smem->bank_width.value > 0 && 2 * g->banks.width <= smem->bank_width.value) {
        g->banks.width *= 2;
    }
    if (smem->bank_width.value <= 0) g->banks.width = 4;
    const MemoryLevel *l2 = &dev->memory[LEVEL_L2];
    const Figure *keeps = hal_has(&l2->effective_capacity) ? &l2->effective_capacity
                                                           : &l2->capacity;
    g->line = line_bytes(l2);
    g->l2_lines = (uint64_t)(keeps->value / g->line);
    arena_defer(a, release_all, g);
    *out = g;
    return ST_OK;
}

void sim_gpu_addresses(SimGpu *g, int number) {
    g->next = SIM_GLOBAL_BASE + ((uint64_t)number << 40);
}

/* The list is no memory of the arena: it must survive a launch that finds no memory.  */
static bool room(SimGpu *g) {
    if (g->n_alloc < g->cap_alloc) return true;
    size_t cap = g->cap_alloc ? 2 * g->cap_alloc : 16;
    SimAlloc *grown = realloc(g->alloc, cap * sizeof *grown);
    if (!grown) return false;
    g->alloc = grown;
    g->cap_alloc = cap;
    return true;
}

/* Index of the last allocation that starts at or before `at`, -1 if there is none.  */
static ptrdiff_t search(const SimGpu *g, uint64_t at) {
    size_t low = 0, high = g->n_alloc;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (g->alloc[mid].base <= at) low = mid + 1;
        else high = mid;
    }
    return (ptrdiff_t)low - 1;
}

/* What is noted of an allocation; false without memory.  */
static bool notes(const SimGpu *g, SimAlloc *x) {
    x->loaded = sparse_new(sectors_room(x));
    x->stored = sparse_new(sectors_room(x));
    x->marked = sparse_new(marks_room(x));
    x->touched = sparse_new(lines_room(g, x));
    x->use = sparse_new(uses_room(g, x));
    if (x->loaded && x->stored && x->marked && x->touched && x->use) return true;
    forget_notes(g, x);
    return false;
}

/* Keeps the list ascending; there is room.  */
static SimAlloc *insert(SimGpu *g, const SimAlloc *x) {
    size_t k = (size_t)(search(g, x->base) + 1);
    memmove(&g->alloc[k + 1], &g->alloc[k], (g->n_alloc++ - k) * sizeof *x);
    g->alloc[k] = *x;
    return &g->alloc[k];
}

/* Every byte is the number that `user` is.  */
static void repeat(void *user, size_t from, size_t bytes, unsigned char *to) {
    (void)from;
    memset(to, (int)(uintptr_t)user, bytes);
}

static SimAlloc *add_alloc(SimGpu *g, size_t bytes, LazyMake *make, void *user) {
    SimAlloc x = {.base = g->next, .bytes = bytes};
    if (!room(g) || !lazy_open(&x.memory, bytes, make, user)) return NULL;
    if (!notes(g, &x)) {
        lazy_close(&x.memory);
        return NULL;
    }
    g->next = (g->next + bytes + 2 * SIM_RED_ZONE) / SIM_RED_ZONE * SIM_RED_ZONE;
    return insert(g, &x);
}

static Status no_memory(Diag *d, size_t bytes) {
    return diag_error(d, ST_NOMEM, "sim", DIAG_NOWHERE,
                      "no memory for %zu bytes of the simulated device", bytes);
}

Status sim_map(SimGpu *g, Diag *d, void *host, size_t bytes) {
    SimAlloc x = {.base = (uint64_t)(uintptr_t)host, .bytes = bytes, .mapped = true};
    if (!room(g) || !lazy_over(&x.memory, host, bytes)) return no_memory(d, bytes);
    if (!notes(g, &x)) {
        lazy_close(&x.memory);
        return no_memory(d, bytes);
    }
    insert(g, &x);
    return ST_OK;
}

Status sim_malloc_made(SimGpu *g, Diag *d, size_t bytes, LazyMake *make, void *user,
                       uint64_t *out) {
    const SimAlloc *x = add_alloc(g, bytes, make, user);
    if (!x) return no_memory(d, bytes);
    *out = x->base;
    return ST_OK;
}

Status sim_malloc(SimGpu *g, Diag *d, size_t bytes, uint64_t *out) {
    return sim_malloc_made(g, d, bytes, repeat, (void *)(uintptr_t)SIM_POISON, out);
}

uint64_t sim_reserve(SimGpu *g, size_t bytes) {
    const SimAlloc *x = add_alloc(g, bytes, repeat, (void *)(uintptr_t)SIM_POISON);
    if (!x) arena_fail(g->arena);
    return x->base;
}

const SimAlloc *sim_nearest(const SimGpu *g, uint64_t at) {
    ptrdiff_t k = search(g, at);
    return k < 0 ? NULL : &g->alloc[k];
}

static bool holds(const SimAlloc *x, uint64_t at, uint64_t bytes) {
    return x && x->memory.data && at - x->base < x->bytes && bytes <= x->bytes - (at - x->base);
}

const SimAlloc *sim_find(const SimGpu *g, uint64_t at, uint64_t bytes) {
    const SimAlloc *x = sim_nearest(g, at);
    return holds(x, at, bytes) ? x : NULL;
}

void sim_free(SimGpu *g, uint64_t at) {
    ptrdiff_t k = search(g, at);
    if (k < 0 || g->alloc[k].base != at) return;
    SimAlloc *x = &g->alloc[k];
    release(g, x);
    if (!x->mapped) return;
    g->n_alloc--;
    memmove(x, x + 1, (g->n_alloc - (size_t)k) * sizeof *x);
}

bool sim_has(const SimGpu *g, uint64_t at, size_t bytes) { return sim_find(g, at, bytes) != NULL; }

bool sim_fill(SimGpu *g, uint64_t at, size_t bytes, unsigned char value) {
    const SimAlloc *found = sim_find(g, at, bytes);
    if (!found) return false;
    SimAlloc *x = &g->alloc[found - g->alloc];
    bool whole = bytes == x->bytes && lazy_renew(&x->memory, repeat, (void *)(uintptr_t)value);
    if (!whole && bytes) memset(lazy_at(&x->memory, at - x->base, bytes), value, bytes);
    return true;
}

void *sim_host(SimGpu *g, uint64_t at, size_t bytes) {
    const SimAlloc *x = sim_find(g, at, bytes);
    if (!x) return NULL;
    return bytes ? lazy_at(&x->memory, at - x->base, bytes) : x->memory.data + (at - x->base);
}

unsigned char *sim_global_raw(SimGpu *g, uint64_t at, uint64_t bytes) {
    return sim_host(g, at, (size_t)bytes);
}

static Status no_such_memory(Diag *d, uint64_t at, size_t bytes) {
    return diag_error(d, ST_CUDA, "sim", DIAG_NOWHERE,
                      "%zu bytes at 0x%" PRIx64 " are not in one allocation", bytes, at);
}

Status sim_write(SimGpu *g, Diag *d, uint64_t at, const void *from, size_t bytes) {
    if (bytes == 0) return ST_OK;
    void *to = sim_host(g, at, bytes);
    if (!to) return no_such_memory(d, at, bytes);
    memcpy(to, from, bytes);
    return ST_OK;
}

Status sim_read(SimGpu *g, Diag *d, uint64_t at, void *to, size_t bytes) {
    if (bytes == 0) return ST_OK;
    const void *from = sim_host(g, at, bytes);
    if (!from) return no_such_memory(d, at, bytes);
    memcpy(to, from, bytes);
    return ST_OK;
}

Status sim_watch(SimGpu *g, Diag *d, uint64_t at) {
    ptrdiff_t k = search(g, at);
    SimAlloc *x = k < 0 ? NULL : &g->alloc[k];
    if (!holds(x, at, 1)) return no_such_memory(d, at, 1);
    if (!x->written) x->written = sparse_new(written_room(x));
    g->watches = true;
    return x->written ? ST_OK : no_memory(d, (size_t)x->bytes);
}

/* Bits of word `word` that stand for bytes from .. end - 1.  */
static uint64_t bits_of(uint64_t word, uint64_t from, uint64_t end) {
    uint64_t all = ~UINT64_C(0), first = word * 64;
    if (from > first) all &= ~UINT64_C(0) << (from - first);
    if (end < first + 64) all &= ~(~UINT64_C(0) << (end - first));
    return all;
}

bool sim_was_written(const SimGpu *g, uint64_t at, size_t bytes) {
    const SimAlloc *x = sim_find(g, at, bytes);
    if (!x || !x->written) return true;
    uint64_t from = at - x->base, end = from + bytes;
    for (uint64_t w = from / 64; w * 64 < end; w++) {
        uint64_t bits = bits_of(w, from, end);
        if (bits & ~atomic_load_explicit(&x->written[w], memory_order_relaxed)) return false;
    }
    return true;
}

void sim_note_written(SimBlock *b, uint64_t at, uint64_t bytes) {
    SimGpu *g = b->cluster->run->gpu;
    if (!g->watches) return;
    const SimAlloc *x = holds(b->hot, at, bytes) ? b->hot : sim_find(g, at, bytes);
    if (!x || !x->written) return;
    uint64_t from = at - x->base, end = from + bytes;
    for (uint64_t w = from / 64; w * 64 < end; w++)
        atomic_fetch_or_explicit(&x->written[w], bits_of(w, from, end), memory_order_relaxed);
}

/* The line in which a sector begins, of those that are noted.  */
static size_t line_at(const SimGpu *g, size_t sector) { return sector * SIM_SECTOR / g->line; }

static void clear_sectors(const SimGpu *g, SimAlloc *x) {
    size_t words = sim_sector_words(x), lines = lines_of(g, x);
    for (size_t n = 0; n < words; n += SIM_MARKED) {
        if (!sim_is_marked(x, n)) continue;
        size_t end = n + SIM_MARKED < words ? n + SIM_MARKED : words;
        size_t line = line_at(g, n * 64), last = line_at(g, end * 64) + 2;
        if (last > lines) last = lines;
        memset(x->loaded + n, 0, (end - n) * sizeof *x->loaded);
        memset(x->stored + n, 0, (end - n) * sizeof *x->stored);
        memset(x->use + line, 0, (last - line) * sizeof *x->use);
        atomic_store_explicit(&x->marked[n / SIM_MARKED], 0, memory_order_relaxed);
    }
}

void sim_clear_sectors(SimGpu *g) {
    for (size_t k = 0; k < g->n_alloc; k++)
        if (g->alloc[k].memory.data) clear_sectors(g, &g->alloc[k]);
}

static uint64_t sum_sectors(const SimAlloc *x, const uint64_t *map) {
    uint64_t sum = 0;
    size_t words = sim_sector_words(x);
    for (size_t n = 0; n < words; n++) {
        if (n % SIM_MARKED == 0 && !sim_is_marked(x, n)) n += SIM_MARKED - 1;
        else sum += (uint64_t)__builtin_popcountll(map[n]);
    }
    return sum;
}

uint64_t sim_sum_sectors(const SimGpu *g, bool stored) {
    uint64_t sum = 0;
    for (size_t k = 0; k < g->n_alloc; k++) {
        const SimAlloc *x = &g->alloc[k];
        if (x->memory.data) sum += sum_sectors(x, stored ? x->stored : x->loaded);
    }
    return sum;
}
