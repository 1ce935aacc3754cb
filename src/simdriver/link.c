/* cuLink: PTX is put together; the "cubin" that a link gives is the text, which every function that
 * takes an image takes.  A cubin is linked as the PTX that it stands for.  */
#include "simdriver/image.h"
#include "simdriver/ptx_link.h"
#include "simdriver/work.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Object o;
    Arena *arena;
    PtxInput *input;
    size_t n, cap;
    const char *image;        /* once it is complete */
    unsigned n_option;
    int *option;              /* the caller's, for the logs */
    void **value;
} Link;

static void link_free(Driver *d, Object *o) {
    Link *l = (Link *)(void *)o;
    arena_destroy(l->arena);
    object_free(d, o);
}

static CUresult create(Call *c, unsigned n, int *options, void **values, CUlinkState *state) {
    if (!state || (n && (!options || !values))) return CUDA_ERROR_INVALID_VALUE;
    Link *l = host_alloc(sizeof *l);
    if (l) l->arena = arena_create(&host_source);
    if (l && l->arena && handle_new(c->driver, &l->o, KIND_LINK, NULL)) {
        l->n_option = n;
        l->option = options;
        l->value = values;
        *state = HANDLE(CUlinkState, l);
        return CUDA_SUCCESS;
    }
    if (l) arena_destroy(l->arena);
    free(l);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, CUlinkState *state) {
    Call c;
    if (!driver_enter(&c, FN_cuLinkCreate_v2)) return c.result;
    return driver_leave(&c, create(&c, n, options, values, state));
}

typedef struct {
    Driver *driver;
    Link *link;
    const void *data;
    size_t size;
    const char *name, *text;
    CUresult result;
} Adding;

/* The text of an input, with a NUL whatever the caller's size says of it.  */
static void add_body(void *user) {
    Adding *x = user;
    Link *l = x->link;
    char *bytes = arena_alloc(l->arena, x->size + 4);
    memcpy(bytes, x->data, x->size);
    memset(bytes + x->size, 0, 4);
    x->text = image_text(x->driver, l->arena, bytes, &x->result);
    if (!x->text) return;
    l->input = arena_grow(l->arena, l->input, &l->cap, l->n + 1, sizeof *l->input);
    const char *name = x->name ? x->name : arena_printf(l->arena, "input %zu", l->n + 1);
    l->input[l->n++] = (PtxInput){arena_strdup(l->arena, name), x->text};
}

static CUresult add(Call *c, CUlinkState state, int type, const void *data, size_t size,
                    const char *name) {
    Link *l = GET(c, Link, state, KIND_LINK);
    if (!l) return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size || l->image) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_CUBIN && type != CU_JIT_INPUT_FATBINARY) {
        driver_say(c->driver, "link: an input of type %d; the simulated driver links PTX", type);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    Adding x = {c->driver, l, data, size, name, NULL, CUDA_ERROR_OUT_OF_MEMORY};
    if (!arena_try(l->arena, add_body, &x)) return CUDA_ERROR_OUT_OF_MEMORY;
    return x.text ? CUDA_SUCCESS : x.result;
}

/* Options of an input are as those of the link.  */
CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name,
                          unsigned n, int *options, void **values) {
    Call c;
    (void)n, (void)options, (void)values;
    if (!driver_enter(&c, FN_cuLinkAddData_v2)) return c.result;
    return driver_leave(&c, add(&c, state, type, data, size, name));
}

CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *file, unsigned n, int *options,
                          void **values) {
    Call c;
    char *bytes;
    size_t len;
    (void)n, (void)options, (void)values;
    if (!driver_enter(&c, FN_cuLinkAddFile_v2)) return c.result;
    CUresult r = code_read(c.driver, file, &bytes, &len);
    if (r != CUDA_SUCCESS) return driver_leave(&c, r);
    r = add(&c, state, type, bytes, len, file);
    free(bytes);
    return driver_leave(&c, r);
}

typedef struct {
    Driver *driver;
    Link *link;
    CUresult result;
} Completing;

static void complete_body(void *user) {
    Completing *x = user;
    Link *l = x->link;
    Diag diag = diag_new(l->arena);
    Status s = ptx_link(l->arena, &diag, l->input, (int)l->n, &l->image);
    if (s == ST_OK) return;
    driver_say_error(x->driver, &diag);
    x->result = CUDA_ERROR_INVALID_PTX;
}

static CUresult complete(Call *c, Link *l, void **image, size_t *size) {
    Completing x = {c->driver, l, CUDA_SUCCESS};
    if (!image) return CUDA_ERROR_INVALID_VALUE;
    if (!l->image && !arena_try(l->arena, complete_body, &x)) x.result = CUDA_ERROR_OUT_OF_MEMORY;
    if (x.result != CUDA_SUCCESS) return x.result;
    *image = (void *)(uintptr_t)l->image;
    if (size) *size = strlen(l->image) + 1;
    return CUDA_SUCCESS;
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size) {
    Call c;
    if (!driver_enter(&c, FN_cuLinkComplete)) return c.result;
    Link *l = GET(&c, Link, state, KIND_LINK);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    CUresult r = complete(&c, l, image, size);
    return driver_leave(&c, code_logs(c.driver, r, l->n_option, l->option, l->value));
}

CUresult cuLinkDestroy(CUlinkState state) {
    Call c;
    if (!driver_enter(&c, FN_cuLinkDestroy)) return c.result;
    Link *l = GET(&c, Link, state, KIND_LINK);
    if (!l) return driver_leave(&c, CUDA_ERROR_INVALID_HANDLE);
    link_free(c.driver, &l->o);
    return driver_leave(&c, CUDA_SUCCESS);
}
