/* Stands in for NVIDIA's libnvJitLink in front of programs on the simulated driver, which runs PTX
 * and no machine code: whoever asks for a cubin gets PTX, which every driver takes as an image.
 *
 * One PTX text is handed through.  LTO-IR goes to the library that $ROLLER_NVJITLINK names, which
 * makes PTX of it.  Anything else is refused.  Preloaded, it is found before the real one.  */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_INPUT = 3, INTERNAL = 6 };
enum { INPUT_PTX = 2, INPUT_LTOIR = 3 };

/* A set of options, the text in or out, and the handle of the real library once LTO-IR comes.  */
typedef struct {
    const char **options;
    uint32_t n_options;
    char *text;
    size_t size;              /* with its final NUL */
    void *real;
} Link;

typedef int Create(void **link, uint32_t n, const char **options);
typedef int Destroy(void **link);
typedef int Add(void *link, int type, const void *data, size_t size, const char *name);
typedef int Complete(void *link);
typedef int Size(void *link, size_t *size);
typedef int Text(void *link, char *text);

API int nvJitLinkVersion(unsigned *major, unsigned *minor);
API Create nvJitLinkCreate;
API Destroy nvJitLinkDestroy;
API Add nvJitLinkAddData;
API Complete nvJitLinkComplete;
API Size nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedPtxSize, nvJitLinkGetErrorLogSize,
    nvJitLinkGetInfoLogSize;
API int nvJitLinkGetLinkedCubin(void *link, void *out);
API Text nvJitLinkGetLinkedPtx, nvJitLinkGetErrorLog, nvJitLinkGetInfoLog;

/* A function of the real library, as TYPE; NULL without one.  */
#define REAL(type, name) ((type *)(uintptr_t)real_symbol(#name))
static void *real_symbol(const char *name) {
    static void *library;
    const char *path = getenv("ROLLER_NVJITLINK");
    if (!library && path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

static void keep(Link *l, const char *option) {
    l->options[l->n_options] = strdup(option);
    if (l->options[l->n_options]) l->n_options++;
}

int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    *major = 13;
    *minor = 0;
    return SUCCESS;
}

int nvJitLinkCreate(void **link, uint32_t n, const char **options) {
    Link *l = calloc(1, sizeof *l);
    if (l) l->options = calloc((size_t)n + 2, sizeof *l->options);
    if (!l || !l->options) {
        free(l);
        return INTERNAL;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (strcmp(options[k], "-lto") && strcmp(options[k], "-ptx")) keep(l, options[k]);
    }
    keep(l, "-lto");
    keep(l, "-ptx");
    *link = l;
    return SUCCESS;
}

int nvJitLinkDestroy(void **link) {
    Link *l = *link;
    if (l->real) REAL(Destroy, nvJitLinkDestroy)(&l->real);
    for (uint32_t k = 0; k < l->n_options; k++) free((void *)(uintptr_t)l->options[k]);
    free(l->options);
    free(l->text);
    free(l);
    *link = NULL;
    return SUCCESS;
}

int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name) {
    Link *l = link;
    if (type == INPUT_LTOIR && !l->text) {
        Create *create = REAL(Create, nvJitLinkCreate);
        if (!create || (!l->real && create(&l->real, l->n_options, l->options))) return INTERNAL;
        return REAL(Add, nvJitLinkAddData)(l->real, type, data, size, name);
    }
    if (type != INPUT_PTX || l->text || l->real) return INVALID_INPUT;
    l->text = calloc(size + 1, 1);
    if (!l->text) return INTERNAL;
    memcpy(l->text, data, size);
    l->size = strlen(l->text) + 1;
    return SUCCESS;
}

int nvJitLinkComplete(void *link) {
    Link *l = link;
    if (!l->real) return l->text ? SUCCESS : INVALID_INPUT;
    int result = REAL(Complete, nvJitLinkComplete)(l->real);
    if (result == SUCCESS) result = REAL(Size, nvJitLinkGetLinkedPtxSize)(l->real, &l->size);
    if (result != SUCCESS) return result;
    l->text = calloc(l->size + 1, 1);
    return l->text ? REAL(Text, nvJitLinkGetLinkedPtx)(l->real, l->text) : INTERNAL;
}

int nvJitLinkGetLinkedPtxSize(void *link, size_t *size) {
    *size = ((Link *)link)->size;
    return SUCCESS;
}

int nvJitLinkGetLinkedPtx(void *link, char *text) {
    Link *l = link;
    memcpy(text, l->text, l->size);
    return SUCCESS;
}

int nvJitLinkGetLinkedCubinSize(void *link, size_t *size) {
    return nvJitLinkGetLinkedPtxSize(link, size);
}

int nvJitLinkGetLinkedCubin(void *link, void *out) { return nvJitLinkGetLinkedPtx(link, out); }

/* Logs are those of the real library; without one they are empty.  */
static int log_size(Link *l, Size *real, size_t *size) {
    *size = 1;
    return l->real ? real(l->real, size) : SUCCESS;
}

static int log_text(Link *l, Text *real, char *text) {
    *text = '\0';
    return l->real ? real(l->real, text) : SUCCESS;
}

int nvJitLinkGetErrorLogSize(void *link, size_t *size) {
    return log_size(link, REAL(Size, nvJitLinkGetErrorLogSize), size);
}

int nvJitLinkGetInfoLogSize(void *link, size_t *size) {
    return log_size(link, REAL(Size, nvJitLinkGetInfoLogSize), size);
}

int nvJitLinkGetErrorLog(void *link, char *text) {
    return log_text(link, REAL(Text, nvJitLinkGetErrorLog), text);
}

int nvJitLinkGetInfoLog(void *link, char *text) {
    return log_text(link, REAL(Text, nvJitLinkGetInfoLog), text);
}
