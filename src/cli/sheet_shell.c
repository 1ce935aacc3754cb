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

static void bash_row(const Sheet *s, int row, Buf *out) {
    const OptionRow *o = &s->row[row];
    Arena *a = out->arena;
    SheetArgument g = sheet_argument(a, s, row);
    const char *words = words_of(a, &g);
    buf_puts(out, "    ");
    if (o->letter) buf_printf(out, "-%c|", o->letter);
    buf_printf(out, "%s)", sheet_flag(a, o));
    if (*words) buf_printf(out, " _roller_some '%s' \"%s\";", g.list ? "list" : "", words);
    if (g.files) buf_puts(out, " _roller_files -f;");
    if (g.folders) buf_puts(out, " _roller_files -d;");
    buf_puts(out, " return ;;\n");
}

void sheet_bash(const Sheet *s, Buf *out) {
    const char *name = sheet_identifier(out->arena, s);
    buf_printf(out, "# Completion of bash, made by %s --generate bash.\n%s_%s() {\n%s", s->tool,
               bash_helpers, name, bash_head);
    for (int i = 0; i < s->n; i++)
        if (s->row[i].arg) bash_row(s, i, out);
    buf_puts(out, "    esac\n    if [[ $cur == -* ]]; then\n        _roller_some '' '");
    for (int i = 0; i < s->n; i++) {
        if (s->row[i].letter) buf_printf(out, "-%c ", s->row[i].letter);
        buf_printf(out, "%s%s", sheet_flag(out->arena, &s->row[i]), i + 1 < s->n ? " " : "");
    }
    buf_puts(out, "'\n        return\n    fi\n");
    for (const char *p = s->operand; *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " ");
        buf_printf(out, "    _roller_files -f -X '!*.%.*s'\n", n, p);
        p += n;
    }
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

static void zsh_row(const Sheet *s, int row, Buf *out) {
    const OptionRow *o = &s->row[row];
    Arena *a = out->arena;
    SheetArgument g = sheet_argument(a, s, row);
    const char *flag = sheet_flag(a, o), *words = words_of(a, &g);
    const char *tail = !o->arg ? "" : flag[1] == '-' ? "=" : "+";
    bool often = strstr(o->text, "repeatable") != NULL;
    buf_puts(out, "    ");
    if (o->letter) {
        if (!often) buf_printf(out, "'(-%c %s)'", o->letter, flag);
        else buf_puts(out, "'*'");
        buf_printf(out, "{-%c%s,%s%s}'", o->letter, o->arg ? "+" : "", flag, tail);
    } else {
        buf_printf(out, "'%s%s%s", often ? "*" : "", flag, tail);
    }
    buf_putc(out, '[');
    quote(o->text, "[]:\\", out);
    buf_putc(out, ']');
    if (o->arg) {
        buf_putc(out, ':');
        quote(o->arg, ":[]\\", out);
        buf_putc(out, ':');
        if (*words) {
            buf_printf(out, "{_roller_some \"%s\" \"%s\" ", g.list ? "list" : "",
                       g.files ? "files" : "");
            quote(words, ":", out);
            buf_putc(out, '}');
        } else if (g.files) {
            buf_puts(out, "_files");
        } else if (g.folders) {
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
    for (int i = 0; i < s->n; i++) zsh_row(s, i, out);
    buf_puts(out, "    '*:FILE:_files -g \"");
    for (const char *p = s->operand; *p; p += strspn(p, " ")) {
        int n = (int)strcspn(p, " ");
        buf_printf(out, "%s*.%.*s", p == s->operand ? "" : " ", n, p);
        p += n;
    }
    buf_puts(out, "\"'\n");
}
