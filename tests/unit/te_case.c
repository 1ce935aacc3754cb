/* links: te */
#include "te_case.h"
#include "base/file.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_FILES = 1024 };

static bool starts(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

static void option(Arena *a, Diag *d, CaseBlock *b, const char *word, const char *next) {
    if (strcmp(word, "-D") == 0) {
        assert_true(next && b->n_define < CASE_DEFINES);
        assert_int_equal(te_define_parse(a, d, next, &b->define[b->n_define++]), ST_OK);
    } else if (starts(word, "--op=")) {
        b->op = word + 5;
    } else if (starts(word, "--dump=")) {
        b->dump = word + 7;
        b->plain = b->plain && strcmp(b->dump, "te") == 0;
    } else {
        b->plain = false;
    }
}

static void options(Arena *a, CaseBlock *b) {
    Diag d = diag_new(a);
    char *save = NULL, *word = strtok_r(arena_strdup(a, b->options), " ", &save);
    b->plain = true;
    while (word) {
        char *next = strtok_r(NULL, " ", &save);
        option(a, &d, b, word, next);
        word = strcmp(word, "-D") == 0 ? strtok_r(NULL, " ", &save) : next;
    }
}

static void blocks(Arena *a, Case *c) {
    Buf want = buf_new(a);
    const char *line = c->text;
    CaseBlock *b = NULL;
    while (*line) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        if (len >= 2 && starts(line, "#$")) {
            assert_true(c->n_block < CASE_BLOCKS);
            b = &c->block[c->n_block++];
            b->options = arena_strndup(a, line + 2, len - 2);
            b->want = "";
            want = buf_new(a);
        } else if (b && len >= 2 && starts(line, "#|")) {
            if (len > 3) buf_add(&want, line + 3, len - 3);
            buf_putc(&want, '\n');
            b->want = buf_str(&want);
        }
        line += len + (end != NULL);
    }
    for (int i = 0; i < c->n_block; i++) options(a, &c->block[i]);
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

int case_each(const char *folder, void (*fn)(Arena *a, const Case *c)) {
    char *file[MAX_FILES];
    int n = 0;
    Arena *names = arena_create(NULL);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t len = strlen(e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 3, ".te") != 0) continue;
        assert_true(n < MAX_FILES);
        file[n++] = arena_printf(names, "%s/%s", folder, e->d_name);
    }
    closedir(dir);
    qsort(file, (size_t)n, sizeof *file, by_name);
    for (int i = 0; i < n; i++) {
        Arena *a = arena_create(NULL);
        Diag d = diag_new(a);
        Case c = {.path = file[i], .name = strrchr(file[i], '/') + 1};
        assert_int_equal(file_read(a, &d, c.path, 4 << 20, &c.text, &c.len), ST_OK);
        blocks(a, &c);
        fn(a, &c);
        arena_destroy(a);
    }
    arena_destroy(names);
    return n;
}

void case_messages(const Diag *d, Buf *out) {
    for (int i = 0; i < d->count; i++) diag_render(&d->messages[i], "roller-gen", false, out);
}
