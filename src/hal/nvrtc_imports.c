/* dlinfo and dladdr are no part of POSIX.  */
#define _GNU_SOURCE

/* What NVRTC imports that would reach into the process.  */
#include "hal/nvrtc_library.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* While it compiles, NVRTC puts handlers of its own in the place of the process's for SIGINT and
 * SIGTERM.  They call malloc and leave by longjmp, on whatever thread the signal comes to, so they
 * hang or end the process that they were put into.  Its imports of `signal` and `sigaction` are
 * therefore bound to these functions, which change nothing.  */
typedef void Handler(int number);

static Handler *keep_signal(int number, Handler *handler) {
    (void)number;
    (void)handler;
    return SIG_DFL;
}

static int keep_sigaction(int number, const struct sigaction *to, struct sigaction *was) {
    (void)to;
    return sigaction(number, NULL, was);
}

/* What it makes when it is first used, it has destroyed when the process ends, which must wait for
 * its threads before that: handlers run newest first.  */
int __cxa_atexit(void (*destroy)(void *), void *what, void *library);

static int await_and_destroy(void (*destroy)(void *), void *what, void *library) {
    int failed = __cxa_atexit(destroy, what, library);
    if (!failed) nvrtc_await_at_exit();
    return failed;
}

#if defined(__GLIBC__) || (defined(RTLD_DI_LINKMAP) && defined(RTLD_NODELETE))
#include <link.h>

/* NVRTC stays in the process, so what it calls has to.  */
static bool stay(void) {
    Dl_info own;
    void *here;
    Handler *(*keep)(int, Handler *) = keep_signal;
    memcpy(&here, &keep, sizeof here);
    if (!dladdr(here, &own)) return false;
    /* A program, which is always there, cannot be found in this way.  */
    void *self = dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (self) dlclose(self);
    return true;
}

/* The address in an entry of the dynamic section; not every C library has made it one.  */
static const char *pointer(const struct link_map *map, ElfW(Addr) at) {
    return (const char *)(at < map->l_addr ? map->l_addr + at : at);
}

static void bind(const struct link_map *map, ElfW(Addr) offset, void *to) {
    ElfW(Addr) slot = map->l_addr + offset, page = (ElfW(Addr))sysconf(_SC_PAGESIZE);
    if (__atomic_load_n((void **)slot, __ATOMIC_ACQUIRE) == to) return;
    void *from = (void *)(slot / page * page);
    if (mprotect(from, page, PROT_READ | PROT_WRITE) == 0)
        __atomic_store_n((void **)slot, to, __ATOMIC_RELEASE);
}

typedef struct {
    const char *name;
    void *to;
} Import;
enum { IMPORTS = 3 };

static void list_imports(Import out[IMPORTS]) {
    Handler *(*keep)(int, Handler *) = keep_signal;
    int (*keep_action)(int, const struct sigaction *, struct sigaction *) = keep_sigaction;
    int (*destroy)(void (*)(void *), void *, void *) = await_and_destroy;
    out[0].name = "signal";
    memcpy(&out[0].to, &keep, sizeof out[0].to);
    out[1].name = "sigaction";
    memcpy(&out[1].to, &keep_action, sizeof out[1].to);
    out[2].name = "__cxa_atexit";
    memcpy(&out[2].to, &destroy, sizeof out[2].to);
}

/* Binds what the relocations of a table that name a symbol have filled in.  */
static void bind_table(const struct link_map *map, const char *table, size_t bytes,
                       const ElfW(Sym) *symbols, const char *names) {
    Import import[IMPORTS];
    list_imports(import);
    for (size_t i = 0; i < bytes / sizeof(ElfW(Rela)); i++) {
        const ElfW(Rela) *r = (const ElfW(Rela) *)table + i;
        const char *name = names + symbols[r->r_info >> (sizeof(ElfW(Addr)) == 8 ? 32 : 8)].st_name;
        for (int k = 0; k < IMPORTS; k++)
            if (!strcmp(name, import[k].name)) bind(map, r->r_offset, import[k].to);
    }
}

void nvrtc_bind_imports(void *library) {
    struct link_map *map;
    const char *names = NULL, *symbols = NULL, *calls = NULL, *data = NULL;
    size_t call_bytes = 0, data_bytes = 0, relative = 0;
    bool addends = false;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !stay()) return;
    for (const ElfW(Dyn) *e = map->l_ld; e->d_tag != DT_NULL; e++) {
        switch (e->d_tag) {
        case DT_STRTAB: names = pointer(map, e->d_un.d_ptr); break;
        case DT_SYMTAB: symbols = pointer(map, e->d_un.d_ptr); break;
        case DT_JMPREL: calls = pointer(map, e->d_un.d_ptr); break;
        case DT_PLTRELSZ: call_bytes = e->d_un.d_val; break;
        case DT_PLTREL: addends = e->d_un.d_val == DT_RELA; break;
        case DT_RELA: data = pointer(map, e->d_un.d_ptr); break;
        case DT_RELASZ: data_bytes = e->d_un.d_val; break;
        case DT_RELACOUNT: relative = e->d_un.d_val * sizeof(ElfW(Rela)); break;
        default: break;
        }
    }
    if (!names || !symbols) return;
    const ElfW(Sym) *symbol = (const void *)symbols;
    if (calls && addends) bind_table(map, calls, call_bytes, symbol, names);
    if (data && data_bytes > relative)
        bind_table(map, data + relative, data_bytes - relative, symbol, names);
}
#else
void nvrtc_bind_imports(void *library) {
    (void)library;
    (void)keep_signal;
    (void)keep_sigaction;
    (void)await_and_destroy;
}
#endif
