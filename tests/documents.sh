#!/bin/sh
# What the documents say: links lead somewhere, files that are named exist, and what is said of all
# kernels is so.
. tests/tap

try 'links lead somewhere, files that are named exist, pictures are whole' tools/links
printf '# A\n\n[b](#b) [c](c.md) `src/none.c` ![d](over.svg)\n' >"$dir/dead.md"
printf '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 99 99"><text x="9" y="50">a bc</text><text x="20" y="55">d</text></svg>' >"$dir/over.svg"
is 'a dead link, a dead anchor, a missing file and texts that lie over each other are found' "$(tools/links "$dir/dead.md" | wc -l)" -eq 5

try 'no kernel adds by atomic operations' sh -c '! grep -nE "atomic[A-Z]|[^a-z]atom\.|[^a-z]red\.(global|async|shared)" tests/golden/*.cu'
try 'ChangeLog begins with this version' grep -q "^roller $(sed -n \
    's/^.define ROLLER_VERSION "\(.*\)"/\1/p' include/roller.h) (20[0-9-]*)$" ChangeLog

# The gallery: one page that stands alone, of well-formed elements, that says what its times are.
try 'a page of the gallery' tools/gallery --no-check --only reduce,matmul "$BUILD" "$dir/gallery.html"
try 'stands alone and is well formed' python3 - "$dir/gallery.html" <<'END'
import html.parser, re, sys, xml.etree.ElementTree
page = open(sys.argv[1], encoding="utf-8").read()
stack = []
class Parser(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            stack.append(tag)
        for name, value in attributes:
            assert name not in ("src", "srcset") and (name != "href" or value[0] == "#"), (name, value)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert stack.pop() == tag, tag
Parser().feed(page)
assert not stack and "url(" not in page and "@import" not in page
for svg in re.findall("<svg.*?</svg>", page, re.S):
    root = xml.etree.ElementTree.fromstring(svg)
    width, height = map(float, root.get("viewBox").split()[2:])
    for line in root.iter("{http://www.w3.org/2000/svg}line"):
        for key, most in (("x1", width), ("x2", width), ("y1", height), ("y2", height)):
            assert 0 <= float(line.get(key)) <= most, line.attrib
assert page.count("<svg") == 4 and "predicted" in page and "Every time on this page is a prediction" in page
END
