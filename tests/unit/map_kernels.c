/* links: driver */
#include "map_kernels.h"
#include "rprogram/extents.h"

#include <stdlib.h>
#include <string.h>

const char *const map_kernel_name[MAP_KERNELS] = {"boxes", "windows", "sums"};

static const char *const text[MAP_KERNELS] = {
    "param M = 1..70; param K = 4..96 % 4;\n"
    "op boxes(X: f32[M,K]) -> Y: f32[M,K] { Y[m,k] = (X[m-1,k+3] else 0); }\n",
    "param N = 1..3;\n"
    "op windows(I: f32[N,6,7,16]) -> Z: f32[N,6,7,3,3,16]\n"
    "{ Z[n,p,q,r,s,c] = (I[n,p+r-1,q+s-1,c] else 0); }\n",
    "param J = 0..40;\n"
    "op sums(A: f32[J,16]) -> S: f32[16] { S[k] += A[j,k]; }\n",
};

/* Places in a tile of rows of 64 bytes: a swizzle of 64 exchanges its chunks of 16 bytes.  */
static const char common[] =
    "struct __align__(64) rl_map { unsigned long long v[16]; };\n"
    "#define MAP const __grid_constant__ rl_map\n"
    "__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "__device__ int place(int r, int c) {\n"
    "    int byte = r * 64 + c * 4;\n"
    "    return (byte ^ (byte >> 7 & 3) << 4) / 4;\n"
    "}\n"
    "__device__ void begin(unsigned full, int bytes) {\n"
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(full) : \"memory\");\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"
    "                 :: \"r\"(full), \"r\"(bytes) : \"memory\");\n"
    "}\n"
    "__device__ void await(unsigned full, int parity) {\n"
    "    unsigned done = 0;\n"
    "    while (!done)\n"
    "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], \"\n"
    "                     \"%2; selp.u32 %0, 1, 0, p; }\"\n"
    "                     : \"=r\"(done) : \"r\"(full), \"r\"(parity) : \"memory\");\n"
    "}\n"
    "__device__ void load(const rl_map *m, float *to, int x, int y, unsigned full) {\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::\"\n"
    "                 \"complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"\n"
    "                 :: \"r\"(at(to)), \"l\"(m), \"r\"(x), \"r\"(y), \"r\"(full) : \"memory\");\n"
    "}\n"
    "#define TILE \\\n"
    "    __shared__ __align__(1024) float tile[512]; \\\n"
    "    __shared__ __align__(8) unsigned long long full; \\\n"
    "    const bool leads = threadIdx.x == 0\n"
    "#define BOX const int wide = (s1 + 15) / 16, k = blockIdx.x % wide * 16, \\\n"
    "                      m = blockIdx.x / wide * 16\n";

static const char kernels[] =
    "extern \"C\" __global__ void rk_00000000000000b0_0(const float *t0, const int s0,\n"
    "    const int s1, float *t1, unsigned char *w, MAP map0, MAP map1) {\n"
    "    TILE; BOX;\n"
    "    if (!leads) return;\n"
    "    begin(at(&full), 1024);\n"
    "    load(&map0, tile, k + 3, m - 1, at(&full));\n"
    "    await(at(&full), 0);\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, \"\n"
    "                 \"{%1, %2}], [%3]; cp.async.bulk.commit_group; \"\n"
    "                 \"cp.async.bulk.wait_group 0;\"\n"
    "                 :: \"l\"(&map1), \"r\"(k), \"r\"(m), \"r\"(at(tile)) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void rk_00000000000000b0_1(const float *t0, const int s0,\n"
    "    const int s1, float *t1, unsigned char *w, MAP map0) {\n"
    "    TILE; BOX;\n"
    "    if (leads) { begin(at(&full), 1024); load(&map0, tile, k, m, at(&full)); }\n"
    "    __syncthreads();\n"
    "    await(at(&full), 0);\n"
    "    for (int i = threadIdx.x; i < 256; i += 32)\n"
    "        if (m + i / 16 < s0 && k + i % 16 < s1)\n"
    "            t1[(m + i / 16) * s1 + k + i % 16] = tile[place(i / 16, i % 16)];\n"
    "}\n"
    "extern \"C\" __global__ void rk_00000000000000b1_0(const float *t0, const int s0, float *t1,\n"
    "    MAP map0) {\n"
    "    TILE;\n"
    "    const int rs = blockIdx.x % 9, first = blockIdx.x / 9 * 32;\n"
    "    if (leads) {\n"
    "        begin(at(&full), 2048);\n"
    "        asm volatile(\"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::\"\n"
    "                     \"complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};\"\n"
    "                     :: \"r\"(at(tile)), \"l\"(&map0), \"r\"(0), \"r\"(first % 7 - 1),\n"
    "                     \"r\"(first % 42 / 7 - 1), \"r\"(first / 42), \"r\"(at(&full)),\n"
    "                     \"h\"((unsigned short)(rs % 3)), \"h\"((unsigned short)(rs / 3))\n"
    "                     : \"memory\");\n"
    "    }\n"
    "    __syncthreads();\n"
    "    await(at(&full), 0);\n"
    "    for (int i = threadIdx.x; i < 512; i += 32)\n"
    "        if (first + i / 16 < s0 * 42)\n"
    "            t1[((first + i / 16) * 9 + rs) * 16 + i % 16] = tile[place(i / 16, i % 16)];\n"
    "}\n"
    "extern \"C\" __global__ void rk_00000000000000b2_0(const float *t0, const int s0, float *t1,\n"
    "    MAP map0, MAP map1) {\n"
    "    TILE;\n"
    "    int rank;\n"
    "    asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "    const int column = rank * 8 + threadIdx.x % 8;\n"
    "    float sum = 0;\n"
    "    for (int j = 0; j < s0; j += 16) {\n"
    "        if (leads) {\n"
    "            begin(at(&full), 1024);\n"
    "            asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::\"\n"
    "                         \"complete_tx::bytes [%0], [%1, {%2, %3, %2}], [%4];\"\n"
    "                         :: \"r\"(at(tile)), \"l\"(&map0), \"r\"(0), \"r\"(j),\n"
    "                         \"r\"(at(&full)) : \"memory\");\n"
    "        }\n"
    "        __syncthreads();\n"
    "        await(at(&full), 0);\n"
    "        for (int i = 0; i < 16; i++) sum += tile[place(i, column)];\n"
    "        __syncthreads();\n"
    "        if (leads) asm volatile(\"mbarrier.inval.shared::cta.b64 [%0];\" :: \"r\"(at(&full))\n"
    "                                : \"memory\");\n"
    "    }\n"
    "    if (threadIdx.x < 8) tile[threadIdx.x] = sum;\n"
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    if (leads)\n"
    "        asm volatile(\"cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, \"\n"
    "                     \"{%1}], [%2]; cp.async.bulk.commit_group; \"\n"
    "                     \"cp.async.bulk.wait_group 0;\"\n"
    "                     :: \"l\"(&map1), \"r\"(column), \"r\"(at(tile)) : \"memory\");\n"
    "}\n";

static const char *source(Arena *a) { return arena_printf(a, "%s%s", common, kernels); }

Status map_kernels_compile(Arena *a, Diag *d, NvrtcOutput *out) {
    Nvrtc *n;
    const NvrtcRequest want = {.ptx = true, .cubin = true};
    Status s = nvrtc_open(a, d, NULL, "sm_90a", &n);
    return s ? s : nvrtc_compile(n, a, d, source(a), "sm_90a", &want, out);
}

/* ---- what their launches take ---- */
static const TensorMap box = {.type = TM_F32, .rank = 2, .box = {16, 16}, .element_stride = {1, 1},
                              .swizzle = TM_SWIZZLE_64};

static KernelMap rows(Arena *a, int tensor, int offset, TeExtent columns, TeExtent n) {
    return (KernelMap){.tensor = tensor, .offset = size_number(offset), .dim = {columns, n},
                       .stride = {size_times(a, columns, size_number(4))}, .fixed = box};
}

static KernelLaunch launch_of(const char *symbol, TeExtent blocks, const KernelMap *map, int n) {
    KernelLaunch k = {.grid = {blocks.value, 1, 1}, .blocks = blocks.expr, .block = {32, 1, 1},
                      .cluster = {1, 1, 1}, .map = map, .n_map = n};
    strcpy(k.symbol, symbol);
    return k;
}

static void boxes(Arena *a, const Te *te, KernelProgram *p) {
    enum { AT = 256 };
    const TeExtent m = te->tensor[0].shape[0], k = te->tensor[0].shape[1];
    TeExtent tiles = size_times(a, size_ceil_div(a, m, 16), size_ceil_div(a, k, 16));
    TeExtent bytes = size_times(a, size_times(a, m, k), size_number(4));
    KernelMap *map = ARENA_ARRAY(a, KernelMap, 2);
    map[0] = rows(a, 0, 0, k, m);
    map[1] = rows(a, -1, AT, k, m);
    p->kernel[0] = launch_of("rk_00000000000000b0_0", tiles, map, 2);
    p->kernel[1] = launch_of("rk_00000000000000b0_1", tiles, &map[1], 1);
    p->n_kernel = 2;
    p->choice[0].slices = size_plus(a, bytes, size_number(AT));
    WorkspaceBuffer *buffer = ARENA_NEW(a, WorkspaceBuffer);
    *buffer = (WorkspaceBuffer){.tensor = -1, .bytes = p->choice[0].slices.value};
    p->strategy[0].workspace = (Workspace){.buffer = buffer, .n = 1, .bytes = buffer->bytes};
    p->strategy[0].buffer_bytes = &p->choice[0].slices;
    p->workspace_bytes = buffer->bytes;
}

static void windows(Arena *a, const Te *te, KernelProgram *p) {
    const TeExtent n = te->tensor[0].shape[0];
    KernelMap *map = ARENA_NEW(a, KernelMap);
    *map = (KernelMap){.dim = {size_number(16), size_number(7), size_number(6), n},
                       .stride = {size_number(64), size_number(64 * 7), size_number(64 * 42)},
                       .lower = {size_number(-1), size_number(-1)},
                       .upper = {size_number(-1), size_number(-1)},
                       .fixed = {.im2col = true, .type = TM_F32, .rank = 4, .channels = 16,
                                 .pixels = 32, .element_stride = {1, 1, 1, 1},
                                 .swizzle = TM_SWIZZLE_64}};
    TeExtent columns = size_ceil_div(a, size_times(a, n, size_number(42)), 32);
    p->kernel[0] = launch_of("rk_00000000000000b1_0", size_times(a, columns, size_number(9)), map,
                             1);
}

static void sums(Arena *a, const Te *te, KernelProgram *p) {
    const TeExtent j = te->tensor[0].shape[0];
    KernelMap *map = ARENA_ARRAY(a, KernelMap, 2);
    map[0] = rows(a, 0, 0, size_number(16), j);
    map[0].fixed.rank = 3;
    map[0].fixed.box[2] = map[0].fixed.element_stride[2] = 1;
    map[0].dim[2] = size_number(1);
    map[0].stride[1] = size_times(a, j, size_number(64));
    map[1] = (KernelMap){.tensor = 1, .offset = size_number(0), .dim = {size_number(16)},
                         .fixed = {.type = TM_F32, .rank = 1, .box = {8}, .element_stride = {1}}};
    p->kernel[0] = launch_of("rk_00000000000000b2_0", size_number(2), map, 2);
    p->kernel[0].cluster[0] = 2;
}

/* ---- as kernels ---- */
/* All take the same before their maps.  */
static void take(Arena *a, const Te *te, bool workspace, KernelLaunch *k) {
    KernelParam *p = ARENA_ARRAY(a, KernelParam, te->n_size + 3 + k->n_map);
    k->param = p;
    *p++ = (KernelParam){PARAM_INPUT, 0, 8, 0};
    for (int i = 0; i < te->n_size; i++) *p++ = (KernelParam){PARAM_SIZE, i, 4, 0};
    *p++ = (KernelParam){PARAM_OUTPUT, 1, 8, 0};
    if (workspace) *p++ = (KernelParam){PARAM_WORKSPACE, -1, 8, 0};
    for (int i = 0; i < k->n_map; i++) *p++ = (KernelParam){PARAM_MAP, i, TM_BYTES, 0};
    k->n_param = (int)(p - k->param);
}

static void describe(Arena *a, int which, const Te *te, KernelProgram *p) {
    static void (*const fill[])(Arena *a, const Te *te, KernelProgram *p) = {boxes, windows, sums};
    *p = (KernelProgram){.source = source(a), .least_cc = 90, .n_kernel = 1, .n_choice = 1,
                         .n_strategy = 1};
    p->source_len = strlen(p->source);
    p->kernel = ARENA_ARRAY(a, KernelLaunch, 2);
    p->choice = ARENA_ARRAY(a, KernelChoice, 1);
    p->strategy = ARENA_ARRAY(a, KernelStrategy, 1);
    *p->strategy = (KernelStrategy){.decisions = "", .n = 1, .n_group = 1};
    fill[which](a, te, p);
    for (int i = 0; i < p->n_kernel; i++) take(a, te, p->workspace_bytes > 0, &p->kernel[i]);
}

RollerKernel *map_kernel(RollerCtx *ctx, int which, const NvrtcOutput *code, const char **why) {
    const NvrtcOptions none = {.path = "/nowhere/libnvrtc.so"};
    const KernelOptions how = {.nvrtc = &none};
    RollerProfile *profile = NULL;
    RollerOp *op = NULL;
    RollerPlans *plans = NULL;
    RollerKernel *k = NULL;
    RollerStatus s = roller_profile_load(ctx, "h200", &profile);
    if (!s) s = roller_parse(ctx, text[which], strlen(text[which]), "map.te", NULL, &op);
    if (!s) s = roller_plan(ctx, op, profile, NULL, &plans);
    if (s) *why = roller_error(ctx)->message;
    roller_op_destroy(op);
    roller_profile_destroy(profile);
    if (s) return NULL;
    Arena *a = arena_create(NULL);
    Diag d = diag_new(a);
    if (kernel_build(a, &d, plans, 0, &how, &k) != ST_NVRTC) abort();
    handle_hold(&k->h, 0, &plans->h);
    roller_plans_destroy(plans);
    describe(a, which, k->plans->op->te, &k->build.program);
    k->build.nvrtc = *code;
    k->build.compiled = true;
    Buf json = buf_new(a);
    artefact_json((const RollerKernel *const[]){k}, 1, &json);
    k->json = buf_str(&json);
    return k;
}
