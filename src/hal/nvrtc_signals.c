/* dlinfo and dladdr are no part of POSIX.  */
#define _GNU_SOURCE

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

/* Binds what the relocations of a table that name a symbol have filled in.  */
static void bind_table(const struct link_map *map, const char *table, size_t bytes,
                       const ElfW(Sym) *symbols, const char *names) {
    Handler *(*keep)(int, Handler *) = keep_signal;
    int (*keep_action)(int, const struct sigaction *, struct sigaction *) = keep_sigaction;
    void *to[2];
    memcpy(&to[0], &keep, sizeof to[0]);
    memcpy(&to[1], &keep_action, sizeof to[1]);
    for (size_t i = 0; i < bytes / sizeof(ElfW(Rela)); i++) {
        const ElfW(Rela) *r = (const ElfW(Rela) *)table + i;
        const char *name = names + symbols[r->r_info >> (sizeof(ElfW(Addr)) == 8 ? 32 : 8)].st_name;
        if (!strcmp(name, "signal")) bind(map, r->r_offset, to[0]);
        if (!strcmp(name, "sigaction")) bind(map, r->r_offset, to[1]);
    }
}

void nvrtc_keep_signals(void *library) {
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
void nvrtc_keep_signals(void *library) {
    (void)library;
    (void)keep_signal;
    (void)keep_sigaction;
}
#endif
