/* Device profiles: no text may crash the reader, and what is read must write and read back the
 * same.  Seeds: profiles/.  */
#include "hal/device.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text;
    size_t len;
} Input;

static void expect(bool condition) {
    if (!condition)
        abort();
}

static void run(Arena *a, const Input *in) {
    Diag d = diag_new(a);
    Device *dev;
    Status s = hal_profile_read(a, &d, (DiagText){"fuzz.json", in->text, in->len}, &dev);
    expect((s == ST_OK) == (d.errors == 0) && (s == ST_OK) == (dev != NULL));
    if (s != ST_OK)
        return;
    Buf once = buf_new(a), twice = buf_new(a);
    hal_profile_write(dev, &once);
    expect(hal_profile_read(a, &d, (DiagText){"once.json", once.text, once.len}, &dev) == ST_OK);
    hal_profile_write(dev, &twice);
    expect(once.len == twice.len && !memcmp(once.text, twice.text, once.len));
}

typedef struct {
    Arena *arena;
    Input input;
} Job;

static void body(void *user) {
    Job *job = user;
    run(job->arena, &job->input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Job job = {arena_create(NULL), {(const char *)data, size}};
    expect(job.arena && arena_try(job.arena, body, &job));
    arena_destroy(job.arena);
    return 0;
}
