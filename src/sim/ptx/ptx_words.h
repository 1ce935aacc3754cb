/* The closed sets of PTX: types, modifiers, instructions, special registers.  Adding an instruction
 * is a row in PTX_OPS (and in PTX_MODS, if it has new modifiers) and a function in the file of its
 * family.  */
#ifndef ROLLER_SIM_PTX_PTX_WORDS_H
#define ROLLER_SIM_PTX_PTX_WORDS_H
#include <stdbool.h>
#include <stdint.h>

/* Types.  Columns: id, text, bits (of one register operand of this type).  */
#define PTX_TYPES(X)                                                                               \
    X(NONE, "", 0)         X(PRED, "pred", 1)                                                      \
    X(B1, "b1", 1)         X(B4, "b4", 4)         X(U4, "u4", 4)         X(S4, "s4", 4)            \
    X(B8, "b8", 8)         X(U8, "u8", 8)         X(S8, "s8", 8)                                   \
    X(B16, "b16", 16)      X(U16, "u16", 16)      X(S16, "s16", 16)                                \
    X(B32, "b32", 32)      X(U32, "u32", 32)      X(S32, "s32", 32)                                \
    X(B64, "b64", 64)      X(U64, "u64", 64)      X(S64, "s64", 64)      X(B128, "b128", 128)      \
    X(F16, "f16", 16)      X(F16X2, "f16x2", 32)  X(BF16, "bf16", 16)    X(BF16X2, "bf16x2", 32)   \
    X(TF32, "tf32", 32)    X(F32, "f32", 32)      X(F32X2, "f32x2", 64)  X(F64, "f64", 64)         \
    X(E4M3, "e4m3", 8)     X(E5M2, "e5m2", 8)     X(E4M3X2, "e4m3x2", 16) X(E5M2X2, "e5m2x2", 16)  \
    X(E4M3X4, "e4m3x4", 32) X(E5M2X4, "e5m2x4", 32)                                                \
    X(E2M1, "e2m1", 4)     X(E2M3, "e2m3", 6)     X(E3M2, "e3m2", 6)     X(E2M1X2, "e2m1x2", 8)    \
    X(E2M3X2, "e2m3x2", 16) X(E3M2X2, "e3m2x2", 16) X(E2M1X4, "e2m1x4", 16)                        \
    X(E2M3X4, "e2m3x4", 32) X(E3M2X4, "e3m2x4", 32)                                                \
    X(UE8M0, "ue8m0", 8)   X(UE8M0X2, "ue8m0x2", 16) X(UE4M3, "ue4m3", 8)                          \
    X(U16X2, "u16x2", 32)  X(S16X2, "s16x2", 32)  X(U8X4, "u8x4", 32)    X(S8X4, "s8x4", 32)       \
    X(B8X16, "b8x16", 128) X(B6X16_P32, "b6x16_p32", 128) X(B4X16_P64, "b4x16_p64", 128)
typedef enum {
#define X(id, text, bits) PTX_##id,
    PTX_TYPES(X)
#undef X
        PTX_TYPE_COUNT
} PtxType;

/* Modifiers: every dotted word after the opcode that is neither a type nor a shape (.m16n8k16).  */
#define PTX_MODS(X)                                                                                \
    /* arithmetic */                                                                               \
    X(RN, "rn") X(RZ, "rz") X(RM, "rm") X(RP, "rp") X(RNA, "rna") X(RS, "rs")                      \
    X(RNI, "rni") X(RZI, "rzi") X(RMI, "rmi") X(RPI, "rpi")                                        \
    X(APPROX, "approx") X(FULL, "full") X(FTZ, "ftz") X(NOFTZ, "noftz") X(SAT, "sat")              \
    X(SATFINITE, "satfinite") X(RELU, "relu") X(XORSIGN, "xorsign") X(ABS, "abs") X(NAN, "NaN")    \
    X(OOB, "oob") X(LO, "lo") X(HI, "hi") X(WIDE, "wide") X(CC, "cc") X(SHIFTAMT, "shiftamt")      \
    X(WRAP, "wrap") X(CLAMP, "clamp") X(L, "l") X(R, "r") X(ZERO, "zero") X(PACK, "pack")          \
    X(F4E, "f4e") X(B4E, "b4e") X(RC8, "rc8") X(ECL, "ecl") X(ECR, "ecr") X(RC16, "rc16")          \
    /* comparison, boolean, reduction */                                                           \
    X(EQ, "eq") X(NE, "ne") X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge") X(LS, "ls")            \
    X(HS, "hs") X(EQU, "equ") X(NEU, "neu") X(LTU, "ltu") X(LEU, "leu") X(GTU, "gtu")              \
    X(GEU, "geu") X(NUM, "num") X(ISNAN, "nan") X(AND, "and") X(OR, "or") X(XOR, "xor")            \
    X(POPC, "popc") X(ADD, "add") X(MIN, "min") X(MAX, "max") X(INC, "inc") X(DEC, "dec")          \
    X(CAS, "cas") X(EXCH, "exch") X(UNI, "uni") X(ALL, "all") X(ANY, "any") X(BALLOT, "ballot")    \
    X(UP, "up") X(DOWN, "down") X(BFLY, "bfly") X(IDX, "idx")                                      \
    X(FINITE, "finite") X(INFINITE, "infinite") X(NUMBER, "number") X(NOTANUMBER, "notanumber")    \
    X(NORMAL, "normal") X(SUBNORMAL, "subnormal")                                                  \
    /* spaces */                                                                                   \
    X(GLOBAL, "global") X(SHARED, "shared") X(SHARED_CTA, "shared::cta")                           \
    X(SHARED_CLUSTER, "shared::cluster") X(LOCAL, "local") X(CONST, "const") X(PARAM, "param")     \
    X(PARAM_ENTRY, "param::entry") X(PARAM_FUNC, "param::func") X(GENERIC, "generic") X(TO, "to")  \
    /* order, scope, proxy */                                                                      \
    X(WEAK, "weak") X(VOLATILE, "volatile") X(RELAXED, "relaxed") X(ACQUIRE, "acquire")            \
    X(RELEASE, "release") X(ACQ_REL, "acq_rel") X(SC, "sc") X(MMIO, "mmio") X(CTA, "cta")          \
    X(CLUSTER, "cluster") X(GPU, "gpu") X(SYS, "sys") X(GL, "gl") X(PROXY, "proxy")                \
    X(ALIAS, "alias") X(ASYNC, "async") X(TENSORMAP_GENERIC, "tensormap::generic")                 \
    X(ASYNC_GENERIC, "async::generic") X(GENERIC_ASYNC, "generic::async")                          \
    X(SYNC_RESTRICT_CTA, "sync_restrict::shared::cta")                                             \
    X(SYNC_RESTRICT_CLUSTER, "sync_restrict::shared::cluster")                                     \
    /* caches */                                                                                   \
    X(CA, "ca") X(CG, "cg") X(CS, "cs") X(LU, "lu") X(CV, "cv") X(WB, "wb") X(WT, "wt")            \
    X(NC, "nc") X(L1_EVICT_NORMAL, "L1::evict_normal") X(L1_EVICT_UNCHANGED, "L1::evict_unchanged")\
    X(L1_EVICT_FIRST, "L1::evict_first") X(L1_EVICT_LAST, "L1::evict_last")                        \
    X(L1_NO_ALLOCATE, "L1::no_allocate") X(L2_EVICT_NORMAL, "L2::evict_normal")                    \
    X(L2_EVICT_FIRST, "L2::evict_first") X(L2_EVICT_LAST, "L2::evict_last")                        \
    X(L2_EVICT_UNCHANGED, "L2::evict_unchanged") X(L2_CACHE_HINT, "L2::cache_hint")                \
    X(L2_64B, "L2::64B") X(L2_128B, "L2::128B") X(L2_256B, "L2::256B") X(L1, "L1") X(L2, "L2")     \
    X(FRACTIONAL, "fractional") X(RANGE, "range") X(CVT, "cvt")                                    \
    /* vectors and barriers */                                                                     \
    X(V2, "v2") X(V4, "v4") X(V8, "v8") X(SYNC, "sync") X(ALIGNED, "aligned")                      \
    X(ARRIVE, "arrive") X(WAIT, "wait") X(RED, "red")                                              \
    /* asynchronous copies and mbarriers */                                                        \
    X(EXPECT_TX, "expect_tx") X(NOCOMPLETE, "noComplete") X(NOINC, "noinc") X(PARITY, "parity")    \
    X(BULK_GROUP, "bulk_group") X(COMPLETE_TX, "mbarrier::complete_tx::bytes")                     \
    X(MULTICAST, "multicast::cluster") X(MULTICAST_ALL, "multicast::cluster::all")                 \
    X(READ, "read") X(D1, "1d") X(D2, "2d") X(D3, "3d")                                            \
    X(D4, "4d") X(D5, "5d") X(TILE, "tile") X(TILE_GATHER4, "tile::gather4")                       \
    X(TILE_SCATTER4, "tile::scatter4") X(IM2COL, "im2col") X(IM2COL_NO_OFFS, "im2col_no_offs")     \
    X(IM2COL_W, "im2col::w") X(IM2COL_W_128, "im2col::w::128") X(CTA_GROUP_1, "cta_group::1")      \
    X(CTA_GROUP_2, "cta_group::2") X(IGNORE_OOB, "ignore_oob") X(CP_MASK, "cp_mask")               \
    X(TENSORMAP, "tensormap") X(B1024, "b1024") X(GLOBAL_ADDRESS, "global_address")                \
    X(RANK, "rank") X(BOX_DIM, "box_dim") X(GLOBAL_DIM, "global_dim")                              \
    X(GLOBAL_STRIDE, "global_stride") X(ELEMENT_STRIDE, "element_stride")                          \
    X(ELEMTYPE, "elemtype") X(INTERLEAVE_LAYOUT, "interleave_layout")                              \
    X(SWIZZLE_MODE, "swizzle_mode") X(SWIZZLE_ATOMICITY, "swizzle_atomicity")                      \
    X(FILL_MODE, "fill_mode")                                                                      \
    /* matrices */                                                                                 \
    X(X1, "x1") X(X2, "x2") X(X4, "x4") X(TRANS, "trans") X(ROW, "row") X(COL, "col")              \
    X(XNOR, "xnor") X(SP, "sp") X(SP_ORDERED, "sp::ordered_metadata")                     \
    X(KIND_F8F6F4, "kind::f8f6f4") X(KIND_MXF8F6F4, "kind::mxf8f6f4")                              \
    X(KIND_MXF4, "kind::mxf4") X(KIND_MXF4NVF4, "kind::mxf4nvf4")                                  \
    X(BLOCK_SCALE, "block_scale") X(SCALE_1X, "scale_vec::1X") X(SCALE_2X, "scale_vec::2X")        \
    X(SCALE_4X, "scale_vec::4X") X(BLOCK16, "block16") X(BLOCK32, "block32")                       \
    X(KIND_F16, "kind::f16") X(KIND_TF32, "kind::tf32") X(KIND_I8, "kind::i8")                     \
    X(COLLECTOR_DISCARD, "collector::a::discard") X(ARRIVE_ONE, "mbarrier::arrive::one")           \
    /* shapes of Tensor Memory */                                                                  \
    X(32X32B, "32x32b") X(16X64B, "16x64b") X(16X128B, "16x128b") X(16X256B, "16x256b")            \
    X(16X32BX2, "16x32bx2")                                                                        \
    X(X8, "x8") X(X16, "x16") X(X32, "x32") X(X64, "x64") X(X128, "x128")                          \
    X(128X256B, "128x256b") X(128X128B, "128x128b") X(64X128B, "64x128b") X(32X128B, "32x128b")    \
    X(WARPX4, "warpx4") X(WARPX2_02_13, "warpx2::02_13") X(WARPX2_01_23, "warpx2::01_23")
typedef enum {
#define X(id, text) MOD_##id,
    PTX_MODS(X)
#undef X
        MOD_COUNT
} PtxMod;
enum { PTX_MOD_WORDS = (MOD_COUNT + 63) / 64 };
typedef struct {
    uint64_t w[PTX_MOD_WORDS];
} PtxMods;
static inline bool ptx_has(const PtxMods *m, PtxMod mod) {
    return (m->w[(unsigned)mod / 64] >> ((unsigned)mod % 64)) & 1;
}
/* The modifier of least number; MOD_COUNT if there is none.  */
static inline PtxMod ptx_first(const PtxMods *m) {
    for (int k = 0; k < PTX_MOD_WORDS; k++) {
        if (m->w[k]) return (PtxMod)(64 * k + __builtin_ctzll(m->w[k]));
    }
    return MOD_COUNT;
}

/* Opcodes.  The longest dotted prefix of the text that is in the table is the opcode; what follows
 * are modifiers, types and a shape.  Columns: id, text, pipe (SIM_PIPE_*), family (its pick
 * function is sim_pick_<family>, see exec.h), operands. Operands, one letter each: d written, s
 * read, r read and written, m memory address (its registers are read), l label, n a symbol or name;
 * those after '/' may be absent; a letter covers a vector {..} or a pair d|p as well.  Written
 * registers of a pair are both written.  '*' means checked by the family.  */
#define PTX_OPS(X)                                                                                 \
    /* control */                                                                                  \
    X(BRA, "bra", CONTROL, control, "l")                                                           \
    X(BRX, "brx.idx", CONTROL, control, "sn")                                                      \
    X(CALL, "call", CONTROL, control, "*")                                                         \
    X(RET, "ret", CONTROL, control, "")                                                            \
    X(EXIT, "exit", CONTROL, control, "")                                                          \
    X(TRAP, "trap", CONTROL, control, "")                                                          \
    X(BRKPT, "brkpt", CONTROL, control, "")                                                        \
    X(NANOSLEEP, "nanosleep", CONTROL, control, "s")                                               \
    X(PMEVENT, "pmevent", CONTROL, control, "s")                                                   \
    X(UNKNOWN, "?", CONTROL, control, "*")                                                         \
    /* moves and integers */                                                                       \
    X(MOV, "mov", ALU, move, "ds")                                                                 \
    X(SELP, "selp", ALU, move, "dsss")                                                             \
    X(SLCT, "slct", ALU, move, "dsss")                                                             \
    X(SETP, "setp", ALU, compare, "dss/s")                                                         \
    X(SET, "set", ALU, compare, "dss/s")                                                           \
    X(ADD, "add", ALU, arith, "dss/s")                                                             \
    X(SUB, "sub", ALU, arith, "dss/s")                                                             \
    X(MUL, "mul", IMAD, arith, "dss/s")                                                            \
    X(MAD, "mad", IMAD, arith, "dsss")                                                             \
    X(FMA, "fma", FFMA, arith, "dsss")                                                             \
    X(DIV, "div", ALU, arith, "dss")                                                               \
    X(ABS, "abs", ALU, arith, "ds")                                                                \
    X(NEG, "neg", ALU, arith, "ds")                                                                \
    X(MIN, "min", ALU, arith, "dss/s")                                                             \
    X(MAX, "max", ALU, arith, "dss/s")                                                             \
    X(ADDC, "addc", ALU, integer, "dss")                                                           \
    X(SUBC, "subc", ALU, integer, "dss")                                                           \
    X(MADC, "madc", IMAD, integer, "dsss")                                                         \
    X(MUL24, "mul24", IMAD, integer, "dss")                                                        \
    X(MAD24, "mad24", IMAD, integer, "dsss")                                                       \
    X(SAD, "sad", ALU, integer, "dsss")                                                            \
    X(REM, "rem", ALU, integer, "dss")                                                             \
    X(POPC, "popc", ALU, integer, "ds")                                                            \
    X(CLZ, "clz", ALU, integer, "ds")                                                              \
    X(BFIND, "bfind", ALU, integer, "ds")                                                          \
    X(FNS, "fns", ALU, integer, "dsss")                                                            \
    X(BREV, "brev", ALU, integer, "ds")                                                            \
    X(BFE, "bfe", ALU, integer, "dsss")                                                            \
    X(BFI, "bfi", ALU, integer, "dssss")                                                           \
    X(SZEXT, "szext", ALU, integer, "dss")                                                         \
    X(BMSK, "bmsk", ALU, integer, "dss")                                                           \
    X(DP4A, "dp4a", IMAD, integer, "dsss")                                                         \
    X(DP2A, "dp2a", IMAD, integer, "dsss")                                                         \
    X(VADD4, "vadd4", ALU, video, "dsss")                                                          \
    X(VSUB4, "vsub4", ALU, video, "dsss")                                                          \
    X(VAVRG4, "vavrg4", ALU, video, "dsss")                                                        \
    X(VABSDIFF4, "vabsdiff4", ALU, video, "dsss")                                                  \
    X(VMIN4, "vmin4", ALU, video, "dsss")                                                          \
    X(VMAX4, "vmax4", ALU, video, "dsss")                                                          \
    X(VADD2, "vadd2", ALU, video, "dsss")                                                          \
    X(VSUB2, "vsub2", ALU, video, "dsss")                                                          \
    X(VAVRG2, "vavrg2", ALU, video, "dsss")                                                        \
    X(VABSDIFF2, "vabsdiff2", ALU, video, "dsss")                                                  \
    X(VMIN2, "vmin2", ALU, video, "dsss")                                                          \
    X(VMAX2, "vmax2", ALU, video, "dsss")                                                          \
    X(AND, "and", ALU, integer, "dss")                                                             \
    X(OR, "or", ALU, integer, "dss")                                                               \
    X(XOR, "xor", ALU, integer, "dss")                                                             \
    X(NOT, "not", ALU, integer, "ds")                                                              \
    X(CNOT, "cnot", ALU, integer, "ds")                                                            \
    X(LOP3, "lop3", ALU, integer, "dssss/s")                                                       \
    X(SHF, "shf", ALU, integer, "dsss")                                                            \
    X(SHL, "shl", ALU, integer, "dss")                                                             \
    X(SHR, "shr", ALU, integer, "dss")                                                             \
    X(PRMT, "prmt", ALU, integer, "dsss")                                                          \
    /* floating point */                                                                           \
    X(COPYSIGN, "copysign", ALU, real, "dss")                                                      \
    X(TESTP, "testp", ALU, real, "ds")                                                             \
    X(RCP, "rcp", MUFU, real, "ds")                                                                \
    X(SQRT, "sqrt", MUFU, real, "ds")                                                              \
    X(RSQRT, "rsqrt", MUFU, real, "ds")                                                            \
    X(SIN, "sin", MUFU, real, "ds")                                                                \
    X(COS, "cos", MUFU, real, "ds")                                                                \
    X(LG2, "lg2", MUFU, real, "ds")                                                                \
    X(EX2, "ex2", MUFU, real, "ds")                                                                \
    X(TANH, "tanh", MUFU, real, "ds")                                                              \
    X(CVT, "cvt", CVT, cvt, "ds/ss")                                                               \
    X(CVT_PACK, "cvt.pack", CVT, cvt, "dss/s")                                                     \
    /* memory */                                                                                   \
    X(LD, "ld", LSU, memory, "dm/s")                                                               \
    X(LDU, "ldu", LSU, memory, "dm")                                                               \
    X(ST, "st", LSU, memory, "ms/s")                                                               \
    X(PREFETCH, "prefetch", LSU, hint, "m")                                                        \
    X(PREFETCHU, "prefetchu", LSU, hint, "m")                                                      \
    X(APPLYPRIORITY, "applypriority", LSU, hint, "ms")                                             \
    X(DISCARD, "discard", LSU, hint, "ms")                                                         \
    X(CREATEPOLICY, "createpolicy", ALU, hint, "*")                                                \
    X(ALLOCA, "alloca", ALU, stack, "ds/s")                                                        \
    X(STACKSAVE, "stacksave", ALU, stack, "d")                                                     \
    X(STACKRESTORE, "stackrestore", ALU, stack, "s")                                               \
    X(CVTA, "cvta", ALU, address, "ds")                                                            \
    X(ISSPACEP, "isspacep", ALU, address, "ds")                                                    \
    X(ATOM, "atom", LSU, atom, "dms/ss")                                                           \
    X(RED, "red", LSU, atom, "ms/s")                                                               \
    X(MEMBAR, "membar", LSU, fence, "")                                                            \
    X(FENCE, "fence", LSU, fence, "")                                                              \
    /* warps and barriers */                                                                       \
    X(SHFL, "shfl", SHFL, warp, "dsss/s")                                                          \
    X(VOTE, "vote", ALU, warp, "ds/s")                                                             \
    X(MATCH, "match", ALU, warp, "dss")                                                            \
    X(REDUX, "redux", ALU, warp, "dss")                                                            \
    X(ACTIVEMASK, "activemask", ALU, warp, "d")                                                    \
    X(BAR_WARP, "bar.warp.sync", CONTROL, warp, "s")                                               \
    X(BAR, "bar", CONTROL, barrier, "*")                                                           \
    X(BARRIER, "barrier", CONTROL, barrier, "*")                                                   \
    /* asynchronous copies */                                                                      \
    X(CP_ASYNC, "cp.async", LSU, cpasync, "mms/ss")                                                \
    X(CP_ASYNC_COMMIT, "cp.async.commit_group", LSU, cpasync, "")                                  \
    X(CP_ASYNC_WAIT, "cp.async.wait_group", LSU, cpasync, "s")                                     \
    X(CP_ASYNC_WAIT_ALL, "cp.async.wait_all", LSU, cpasync, "")                                    \
    X(CP_ASYNC_MBARRIER, "cp.async.mbarrier.arrive", LSU, cpasync, "m")                            \
    X(MBAR_INIT, "mbarrier.init", LSU, mbarrier, "ms")                                             \
    X(MBAR_INVAL, "mbarrier.inval", LSU, mbarrier, "m")                                            \
    X(MBAR_EXPECT, "mbarrier.expect_tx", LSU, mbarrier, "ms")                                      \
    X(MBAR_COMPLETE, "mbarrier.complete_tx", LSU, mbarrier, "ms")                                  \
    X(MBAR_ARRIVE, "mbarrier.arrive", LSU, mbarrier, "*")                                          \
    X(MBAR_DROP, "mbarrier.arrive_drop", LSU, mbarrier, "*")                                       \
    X(MBAR_TEST, "mbarrier.test_wait", LSU, mbarrier, "dms")                                       \
    X(MBAR_TRY, "mbarrier.try_wait", LSU, mbarrier, "dms/s")                                       \
    X(MBAR_PENDING, "mbarrier.pending_count", ALU, mbarrier, "ds")                                 \
    X(BULK, "cp.async.bulk", LSU, bulk, "*")                                                       \
    X(BULK_COMMIT, "cp.async.bulk.commit_group", LSU, bulk, "")                                    \
    X(BULK_WAIT, "cp.async.bulk.wait_group", LSU, bulk, "s")                                       \
    X(BULK_PREFETCH, "cp.async.bulk.prefetch", LSU, bulk, "*")                                     \
    X(BULK_REDUCE, "cp.reduce.async.bulk", LSU, bulk, "*")                                         \
    X(TMA, "cp.async.bulk.tensor", LSU, tensor, "*")                                               \
    X(TMA_REDUCE, "cp.reduce.async.bulk.tensor", LSU, tensor, "*")                                 \
    X(TMA_PREFETCH, "cp.async.bulk.prefetch.tensor", LSU, tensor, "*")                             \
    X(TM_REPLACE, "tensormap.replace", LSU, tensormap, "ms/s")                                     \
    X(TM_COPY, "tensormap.cp_fenceproxy", LSU, tensormap, "mms")                                   \
    X(FENCE_PROXY, "fence.proxy", LSU, proxy, "/ms")                                               \
    X(FENCE_MBAR, "fence.mbarrier_init", LSU, proxy, "")                                           \
    /* clusters and launch control */                                                              \
    X(CLUSTER_ARRIVE, "barrier.cluster.arrive", CONTROL, cluster, "")                              \
    X(CLUSTER_WAIT, "barrier.cluster.wait", CONTROL, cluster, "")                                  \
    X(MAPA, "mapa", ALU, cluster, "dss")                                                           \
    X(GETCTARANK, "getctarank", ALU, cluster, "ds")                                                \
    X(ST_ASYNC, "st.async", LSU, cluster, "msm")                                                   \
    X(RED_ASYNC, "red.async", LSU, cluster, "msm")                                                 \
    X(CLC_TRY, "clusterlaunchcontrol.try_cancel", LSU, cancel, "mm")                               \
    X(CLC_CANCELED, "clusterlaunchcontrol.query_cancel.is_canceled", ALU, cancel, "ds")            \
    X(CLC_FIRST, "clusterlaunchcontrol.query_cancel.get_first_ctaid", ALU, cancel, "ds")           \
    X(CLC_FIRST_X, "clusterlaunchcontrol.query_cancel.get_first_ctaid::x", ALU, cancel, "ds")      \
    X(CLC_FIRST_Y, "clusterlaunchcontrol.query_cancel.get_first_ctaid::y", ALU, cancel, "ds")      \
    X(CLC_FIRST_Z, "clusterlaunchcontrol.query_cancel.get_first_ctaid::z", ALU, cancel, "ds")      \
    X(ELECT, "elect.sync", ALU, launch, "ds")                                                      \
    X(SETMAXNREG, "setmaxnreg", CONTROL, launch, "s")                                              \
    X(GRIDDEP, "griddepcontrol", CONTROL, launch, "")                                              \
    X(GRIDDEP_LAUNCH, "griddepcontrol.launch_dependents", CONTROL, launch, "")                     \
    /* matrices */                                                                                 \
    X(LDMATRIX, "ldmatrix", LSU, matrix, "dm")                                                     \
    X(STMATRIX, "stmatrix", LSU, matrix, "ms")                                                     \
    X(MOVMATRIX, "movmatrix", SHFL, matrix, "ds")                                                  \
    X(MMA, "mma", TENSOR, mma, "dsss/ssssss")                                                      \
    X(WMMA_LOAD_A, "wmma.load.a", LSU, wmma, "dm/s")                                               \
    X(WMMA_LOAD_B, "wmma.load.b", LSU, wmma, "dm/s")                                               \
    X(WMMA_LOAD_C, "wmma.load.c", LSU, wmma, "dm/s")                                               \
    X(WMMA_STORE, "wmma.store.d", LSU, wmma, "ms/s")                                               \
    X(WMMA_MMA, "wmma.mma", TENSOR, wmma, "dsss")                                                  \
    X(WGMMA, "wgmma.mma_async", TENSOR, wgmma, "rsss/ssss")                                        \
    X(WGMMA_FENCE, "wgmma.fence", CONTROL, wgmma, "")                                              \
    X(WGMMA_COMMIT, "wgmma.commit_group", CONTROL, wgmma, "")                                      \
    X(WGMMA_WAIT, "wgmma.wait_group", CONTROL, wgmma, "s")                                         \
    /* Tensor Memory */                                                                            \
    X(TC_ALLOC, "tcgen05.alloc", CONTROL, tmem, "ms")                                              \
    X(TC_DEALLOC, "tcgen05.dealloc", CONTROL, tmem, "ss")                                          \
    X(TC_RELINQUISH, "tcgen05.relinquish_alloc_permit", CONTROL, tmem, "")                         \
    X(TC_LD, "tcgen05.ld", LSU, tmem, "dm/s")                                                      \
    X(TC_ST, "tcgen05.st", LSU, tmem, "ms/s")                                                      \
    X(TC_WAIT_LD, "tcgen05.wait::ld", CONTROL, tmem, "")                                           \
    X(TC_WAIT_ST, "tcgen05.wait::st", CONTROL, tmem, "")                                           \
    X(TC_FENCE_BEFORE, "tcgen05.fence::before_thread_sync", CONTROL, tmem, "")                     \
    X(TC_FENCE_AFTER, "tcgen05.fence::after_thread_sync", CONTROL, tmem, "")                       \
    X(TC_CP, "tcgen05.cp", TENSOR, tensor_copy, "ms")                                              \
    X(TC_MMA, "tcgen05.mma", TENSOR, tensor_product, "*")                                          \
    X(TC_COMMIT, "tcgen05.commit", CONTROL, tensor_commit, "m/s")
typedef enum {
#define X(id, text, pipe, family, operands) OP_##id,
    PTX_OPS(X)
#undef X
        OP_COUNT
} PtxOp;

/* Special registers: id, text, type.  */
#define PTX_SREGS(X)                                                                               \
    X(TID_X, "%tid.x", U32) X(TID_Y, "%tid.y", U32) X(TID_Z, "%tid.z", U32)                        \
    X(NTID_X, "%ntid.x", U32) X(NTID_Y, "%ntid.y", U32) X(NTID_Z, "%ntid.z", U32)                  \
    X(CTAID_X, "%ctaid.x", U32) X(CTAID_Y, "%ctaid.y", U32) X(CTAID_Z, "%ctaid.z", U32)            \
    X(NCTAID_X, "%nctaid.x", U32) X(NCTAID_Y, "%nctaid.y", U32) X(NCTAID_Z, "%nctaid.z", U32)      \
    X(LANEID, "%laneid", U32) X(WARPID, "%warpid", U32) X(NWARPID, "%nwarpid", U32)                \
    X(SMID, "%smid", U32) X(NSMID, "%nsmid", U32) X(GRIDID, "%gridid", U64)                        \
    X(CLOCK, "%clock", U32) X(CLOCK_HI, "%clock_hi", U32) X(CLOCK64, "%clock64", U64)              \
    X(GLOBALTIMER, "%globaltimer", U64) X(GLOBALTIMER_LO, "%globaltimer_lo", U32)                  \
    X(GLOBALTIMER_HI, "%globaltimer_hi", U32)                                                      \
    X(LANEMASK_EQ, "%lanemask_eq", U32) X(LANEMASK_LE, "%lanemask_le", U32)                        \
    X(LANEMASK_LT, "%lanemask_lt", U32) X(LANEMASK_GE, "%lanemask_ge", U32)                        \
    X(LANEMASK_GT, "%lanemask_gt", U32)                                                            \
    X(CLUSTERID_X, "%clusterid.x", U32) X(CLUSTERID_Y, "%clusterid.y", U32)                        \
    X(CLUSTERID_Z, "%clusterid.z", U32) X(NCLUSTERID_X, "%nclusterid.x", U32)                      \
    X(NCLUSTERID_Y, "%nclusterid.y", U32) X(NCLUSTERID_Z, "%nclusterid.z", U32)                    \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x", U32) X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", U32)        \
    X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", U32) X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", U32)      \
    X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", U32) X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", U32)    \
    X(CLUSTER_CTARANK, "%cluster_ctarank", U32) X(CLUSTER_NCTARANK, "%cluster_nctarank", U32)      \
    X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", PRED)                                           \
    X(DYNAMIC_SMEM, "%dynamic_smem_size", U32) X(TOTAL_SMEM, "%total_smem_size", U32)              \
    X(AGGR_SMEM, "%aggr_smem_size", U32) X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", U32)\
    X(RESERVED_SMEM_END, "%reserved_smem_offset_end", U32)                                         \
    X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", U32)                                         \
    X(RESERVED_SMEM_0, "%reserved_smem_offset_0", U32)                                             \
    X(RESERVED_SMEM_1, "%reserved_smem_offset_1", U32)                                             \
    X(CURRENT_GRAPH_EXEC, "%current_graph_exec", U64)
typedef enum {
#define X(id, text, type) SREG_##id,
    PTX_SREGS(X)
#undef X
        SREG_COUNT
} PtxSreg;
#endif
