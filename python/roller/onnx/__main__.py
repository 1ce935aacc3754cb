"""roller-onnx: ONNX models as kernels."""
import argparse
import sys
import warnings

import roller

from . import Unsupported, load


def size(text):
    name, _, value = text.partition("=")
    if not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=8 or NAME=1..64")
    return name, int(value) if value.isdigit() else value


def arguments():
    parser = argparse.ArgumentParser(
        prog="roller-onnx", description="Compiles an ONNX model to one program of CUDA kernels, or "
        "says what it would take.")
    parser.add_argument("model", help="a .onnx file")
    parser.add_argument("--size", type=size, action="append", default=[], metavar="NAME=N",
                        help="what a named dimension is: 8, or 1..64 for a size known at run time")
    parser.add_argument("--profile", default=None, metavar="LIST",
                        help="device profiles, separated by commas; several with --estimate")
    parser.add_argument("--estimate", action="store_true",
                        help="print what the model is predicted to take, kernel by kernel")
    parser.add_argument("--tf32", action="store_true",
                        help="products of f32 may round their factors to tf32")
    parser.add_argument("--te", action="store_true", help="print the op that the model becomes")
    parser.add_argument("--check", action="store_true", help="prove the kernels in the simulator")
    parser.add_argument("-o", "--output", metavar="FOLDER",
                        help="write the launcher in C, the JSON and the weights there")
    return parser.parse_args()


def estimate(model, profiles):
    prices = [model.price(p) for p in profiles]
    for profile, (total, kernels) in zip(profiles, prices):
        print(f"{profile or 'default profile'}: {total:.1f} us predicted, {len(kernels)} kernels")
        for k in kernels:
            print(f"  {k.us:9.1f} us  {k.skeleton:8} {k.limiter:8} {' '.join(k.nodes)}")
    if len(prices) > 1:
        print("predicted, us: " + ", ".join(
            f"{p} {total:.1f}" for p, (total, _) in zip(profiles, prices)))


def main():
    warnings.simplefilter("ignore")
    o = arguments()
    profiles = o.profile.split(",") if o.profile else [None]
    if len(profiles) > 1 and not o.estimate:
        sys.exit("roller-onnx: several profiles are for --estimate")
    try:
        model = load(o.model, sizes=dict(o.size), tf32=o.tf32, profile=profiles[0], check=o.check)
        if o.te:
            print(model.te, end="")
        if o.estimate:
            estimate(model, profiles)
        if o.output:
            print("\n".join(f"wrote {path}" for path in model.save(o.output)))
        elif not o.te and not o.estimate:
            print(model.kernel)
    except (Unsupported, roller.Error, OSError) as error:
        sys.exit(f"roller-onnx: error: {error}")


if __name__ == "__main__":
    main()
