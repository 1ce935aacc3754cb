/* From a parsed function to executable code: control flow graph, places of registers, linking.  */
#ifndef ROLLER_SIM_LINKER_LINK_H
#define ROLLER_SIM_LINKER_LINK_H
#include "sim/lane/code.h"

/* A basic block: instructions first .. end - 1.  */
typedef struct {
    int first, end;
    const int *succ;          /* block numbers; SIM_CFG_EXIT for leaving the function */
    int n_succ;
    int ipdom;                /* immediate post-dominator; SIM_CFG_EXIT, or -1 if no path leaves */
} SimBasic;
enum { SIM_CFG_EXIT = -2 };

typedef struct {
    SimBasic *block;
    int n;
    int *of;                  /* block of an instruction */
} SimCfg;
SimCfg *sim_cfg(Arena *a, const PtxFunc *f);

/* Gives every register a slot from *file_bytes up; registers that are never live together share
 * one. Returns the largest number of live 32-bit values.  */
int sim_assign_slots(Arena *a, const PtxFunc *f, const SimCfg *cfg, Slot *slot,
                     uint32_t *file_bytes);

/* Constants of a kernel, filled while linking; addresses of variables are known at launch.  */
typedef struct SimConst {
    uint64_t bits64;
    uint32_t bits32;
    const PtxSymbol *symbol;  /* NULL: the bits are final */
    int64_t add;
} SimConst;

static inline uint64_t sim_code_address(const PtxFunc *f) {
    return SIM_CODE_WINDOW + 16 * ((uint64_t)f->number + 1);
}

typedef struct {
    Arena *arena;
    Diag *diag;
    const PtxModule *m;
    SimKernel *kernel;
    SimConst *konst;
    size_t n_konst, cap_konst;
    uint32_t *konst_table;    /* open hash table of indices + 1 */
    size_t cap_table;
    const char *why;          /* the instruction being linked is refused; else NULL */
} SimLinker;

/* A function of the kernel.  */
typedef struct {
    const PtxFunc *f;
    SimCfg *cfg;
    Slot *slot;               /* of its registers */
    int64_t at;               /* offset of its frame in local memory; 0 in the stack */
    SimFrame frame;
    Slot link;                /* where its return address is kept */
    uint32_t *start;          /* code index of every instruction, and of the end */
    bool *joins;              /* whether an instruction is a reconvergence point */
    bool recursive;           /* may call itself, or be called by what it calls; or its stack
                               * grows while it runs */
} SimFuncCode;

typedef struct {
    const PtxSymbol *symbol;
    int64_t at;
} SimSharedPlace;

typedef struct {
    SimLinker l;
    SimSharedPlace *shared;
    size_t n_shared, cap_shared;
    int64_t shared_bytes;
    SimFuncCode *func;
    size_t n_func, cap_func;
    uint32_t n_code;
    uint32_t file_bytes;
} SimLink;

/* The slots of an operand, which has been checked.  */
void sim_link_operand(SimLink *k, const SimFuncCode *u, const PtxOpnd *o, SimOpnd *out);
/* An operand that cannot be, or a list that does not fit the opcode's pattern, is reported.  */
bool sim_check_operand(SimLinker *l, const SimFuncCode *u, const PtxInst *i, const PtxOpnd *o);
bool sim_check_pattern(SimLinker *l, const PtxInst *i);
/* Says why an instruction is refused, which is told when it is reached; returns false.  */
bool sim_link_error(SimLinker *l, const PtxInst *i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Functions and calls: all functions that a kernel needs, and which of them are recursive.  */
void sim_link_funcs(SimLink *k, const PtxFunc *f);
/* The frame of a recursive function, once its registers have their places.  */
void sim_link_stack(SimLink *k, SimFuncCode *u);
bool sim_link_call(SimLink *k, const SimFuncCode *u, SimInst *i, const PtxInst *p);
Status sim_link(Arena *a, Diag *d, const PtxModule *m, const PtxFunc *f, SimKernel **out);

int sim_find_kernel(const SimModule *m, const char *kernel);      /* -1: none */

struct SimModule {
    PtxModule *ptx;
    SimKernel **kernel;
    SimParam **param;
    int n_kernel;
};
#endif
