/* Completion for bash and zsh.  */
#include "cli/sheet.h"
#include <string.h>

/* Text within single quotes of a shell, with a backslash before each character of `special`.  */
static void quote(const char *text, const char *special, Buf *out) {
    for (; *text; text++) {
        if (*text == '\'') {
            buf_puts(out, "'\\''");
            continue;
        }
        if (strchr(special, *text)) buf_putc(out, '\\');
        buf_putc(out, *text);
    }
}

/* What prints an argument's words: themselves, or a command in $( ).  */
static const char *words_of(Arena *a, const SheetArgument *g) {
    if (!g->words) return g->literal;
    if (g->words->command) return arena_printf(a, "$(%s)", g->words->command);
    Buf b = buf_new(a);
    for (int i = 0; i < g->words->n; i++)
        buf_printf(&b, "%s%s", b.len ? " " : "", g->words->word[i]);
    return buf_str(&b);
}

/* An option as completions need it.  */
typedef struct {
    const OptionRow *o;
    SheetArgument g;
    const char *flag, *words;
} Row;

static Row row_of(Arena *a, const Sheet *s, int i) {
    Row r = {&s->row[i], sheet_argument(a, s, i), sheet_flag(a, &s->row[i]), NULL};
    r.words = words_of(a, &r.g);
    return r;
}

/* The endings of the files that the tool takes.  */
static void operands(const Sheet *s, const char *before, const char *after, const char *between,
                     Buf *out) {
    for (const char *p = s->operand; *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " ");
        buf_printf(out, "%s%s%.*s%s", p == s->operand ? "" : between, before, n, p, after);
        p += n;
    }
}

/* ---- bash ---- */
static const char bash_helpers[] =
    "_roller_some() {   # [list] WORDS: those that fit, behind the last comma of a list\n"
    "    local IFS=$' \\t\\n' before=\n"
    "    [[ $1 && $cur == *,* ]] && before=${cur%,*},\n"
    "    [[ $1 ]] && compopt -o nospace 2>/dev/null\n"
    "    COMPREPLY+=($(compgen -P \"$before\" -W \"$2\" -- \"${cur#\"$before\"}\"))\n"
    "}\n"
    "_roller_files() {  # arguments of compgen\n"
    "    local IFS=$'\\n'\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    COMPREPLY+=($(compgen \"$@\" -- \"$cur\"))\n"
    "}\n";

static const char bash_head[] =
    "    local cur=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD input= word IFS=$' \\t\\n'\n"
    "    COMPREPLY=()\n"
    "    for word in \"${COMP_WORDS[@]:1}\"; do\n"
    "        [[ $word != -* && -f $word ]] && input=$word\n"
    "    done\n"
    "    # --name=NAME=VALUE comes in parts: the option is the word before them.\n"
    "    [[ $cur == = ]] && cur= || ((at--))\n"
    "    while [[ ${COMP_WORDS[at]} == = ]]; do\n"
    "        ((at--))\n"
    "        [[ ${COMP_WORDS[at]} == -* ]] || ((at--))\n"
    "    done\n"
    "    case ${COMP_WORDS[at]} in\n";

static void bash_row(const Row *r, Buf *out) {
    buf_puts(out, "    ");
    if (r->o->letter) buf_printf(out, "-%c|", r->o->letter);
    buf_printf(out, "%s)", r->flag);
    if (*r->words)
        buf_printf(out, " _roller_some '%s' \"%s\";", r->g.list ? "list" : "", r->words);
    if (r->g.files) buf_puts(out, " _roller_files -f;");
    if (r->g.folders) buf_puts(out, " _roller_files -d;");
    buf_puts(out, " return ;;\n");
}

void sheet_bash(const Sheet *s, Buf *out) {
    const char *name = sheet_identifier(out->arena, s);
    buf_printf(out, "# Completion of bash, made by %s --generate bash.\n%s_%s() {\n%s", s->tool,
               bash_helpers, name, bash_head);
    for (int i = 0; i < s->n; i++) {
        Row r = row_of(out->arena, s, i);
        if (r.o->arg) bash_row(&r, out);
    }
    buf_puts(out, "    esac\n    if [[ $cur == -* ]]; then\n        _roller_some '' '");
    for (int i = 0; i < s->n; i++) {
        if (s->row[i].letter) buf_printf(out, "-%c ", s->row[i].letter);
        buf_printf(out, "%s%s", sheet_flag(out->arena, &s->row[i]), i + 1 < s->n ? " " : "");
    }
    buf_puts(out, "'\n        return\n    fi\n");
    operands(s, "    _roller_files -f -X '!*.", "'\n", "", out);
    buf_printf(out, "    _roller_files -d\n}\ncomplete -F _%s %s\n", name, s->tool);
}

/* ---- zsh ---- */
static const char zsh_head[] =
    "local input=${${(M)words[2,-1]:#*.*}[-1]}\n"
    "_roller_some() {   # _roller_some LIST FILES WORD...: words, files too, of a list\n"
    "    local list=$1 files=$2 found=1\n"
    "    shift 2\n"
    "    [[ -n $list ]] && compset -P '*,'\n"
    "    (( $# )) && compadd ${list:+-q} ${list:+-S,} -- \"$@\" && found=0\n"
    "    [[ -n $files ]] && _files && found=0\n"
    "    return found\n"
    "}\n";

static void zsh_row(const Row *r, Buf *out) {
    const char *tail = !r->o->arg ? "" : r->flag[1] == '-' ? "=" : "+";
    bool often = strstr(r->o->text, "repeatable") != NULL;
    buf_puts(out, "    ");
    if (r->o->letter) {
        if (!often) buf_printf(out, "'(-%c %s)'", r->o->letter, r->flag);
        else buf_puts(out, "'*'");
        buf_printf(out, "{-%c%s,%s%s}'", r->o->letter, r->o->arg ? "+" : "", r->flag, tail);
    } else {
        buf_printf(out, "'%s%s%s", often ? "*" : "", r->flag, tail);
    }
    buf_putc(out, '[');
    quote(r->o->text, "[]:\\", out);
    buf_putc(out, ']');
    if (r->o->arg) {
        buf_putc(out, ':');
        quote(r->o->arg, ":[]\\", out);
        buf_putc(out, ':');
        if (*r->words) {
            buf_printf(out, "{_roller_some \"%s\" \"%s\" ", r->g.list ? "list" : "",
                       r->g.files ? "files" : "");
            quote(r->words, ":", out);
            buf_putc(out, '}');
        } else if (r->g.files) {
            buf_puts(out, "_files");
        } else if (r->g.folders) {
            buf_puts(out, "_files -/");
        } else {
            buf_putc(out, ' ');
        }
    }
    buf_puts(out, "' \\\n");
}

void sheet_zsh(const Sheet *s, Buf *out) {
    buf_printf(out, "#compdef %s\n# Completion of zsh, made by %s --generate zsh.\n%s", s->tool,
               s->tool, zsh_head);
    buf_puts(out, "_arguments \\\n");
    for (int i = 0; i < s->n; i++) {
        Row r = row_of(out->arena, s, i);
        zsh_row(&r, out);
    }
    buf_puts(out, "    '*:FILE:_files -g \"");
    operands(s, "*.", "", " ", out);
    buf_puts(out, "\"'\n");
}
