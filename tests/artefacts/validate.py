"""validate.py SCHEMA JSON...: the part of JSON Schema that schemas/kernel.schema.json uses; an
unknown keyword is an error, so that none is passed over."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
         "null": type(None)}
NOTES = {"$schema", "$id", "$defs", "title", "description"}


def is_type(v, name):
    return isinstance(v, TYPES[name]) and (name == "boolean" or not isinstance(v, bool))


def faults(v, s, root, at):
    def every(found):
        return [f for x in found for f in x]

    def one_of(options):
        fits = sum(not faults(v, o, root, at) for o in options)
        return [] if fits == 1 else [f"{at}: fits {fits} of {len(options)}"]

    def test(right, why):
        return [] if right else [f"{at}: {why}"]

    found = []
    for key, x in s.items():
        if key in NOTES:
            continue
        elif key == "$ref":
            found += faults(v, root["$defs"][x.rsplit("/", 1)[1]], root, at)
        elif key == "type":
            names = x if isinstance(x, list) else [x]
            found += test(any(is_type(v, n) for n in names), f"no {' or '.join(names)}")
        elif key == "const":
            found += test(v == x, f"is not {x}")
        elif key == "enum":
            found += test(v in x, f"is none of {x}")
        elif key == "oneOf":
            found += one_of(x)
        elif key == "required":
            found += test(isinstance(v, dict) and set(x) <= set(v), f"has not all of {x}")
        elif key == "properties":
            found += every(faults(v[k], t, root, f"{at}.{k}") for k, t in x.items() if k in v) \
                if isinstance(v, dict) else []
        elif key == "additionalProperties":
            found += every(faults(y, x, root, f"{at}.{k}") for k, y in v.items()) \
                if isinstance(v, dict) else []
        elif key == "items":
            found += every(faults(y, x, root, f"{at}[{i}]") for i, y in enumerate(v)) \
                if isinstance(v, list) else []
        elif key in ("minItems", "minLength"):
            found += test(not hasattr(v, "__len__") or len(v) >= x, "is too short")
        elif key == "maxItems":
            found += test(not isinstance(v, list) or len(v) <= x, "is too long")
        elif key == "minimum":
            found += test(not is_type(v, "integer") or v >= x, f"is below {x}")
        elif key == "pattern":
            found += test(not isinstance(v, str) or re.search(x, v), f"is not as {x}")
        else:
            sys.exit(f"the schema has the unknown keyword {key}")
    return found


schema = json.load(open(sys.argv[1]))
status = 0
for path in sys.argv[2:]:
    for fault in faults(json.load(open(path)), schema, schema, path):
        print(fault)
        status = 1
sys.exit(status)
