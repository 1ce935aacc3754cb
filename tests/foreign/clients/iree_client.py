"""IREE: its CUDA compiler and runtime."""
import numpy as np
import iree.compiler
import iree.runtime

device = iree.runtime.get_driver("cuda").create_default_device()


def run(source, *args):
    kind = "stablehlo" if "stablehlo" in source else "auto"
    vm = iree.compiler.compile_str(source, target_backends=["cuda"], input_type=kind,
                                   extra_args=["--iree-cuda-target=sm_80"])
    ctx = iree.runtime.SystemContext(config=iree.runtime.Config(device=device))
    ctx.add_vm_module(iree.runtime.VmModule.copy_buffer(ctx.instance, vm))
    return ctx.modules.module.f(*args).to_host()


r = np.random.default_rng(0)
x, w = r.random((32, 48), "f"), r.random((48, 64), "f")
got = run("""func.func @f(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
     : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32> }""", x, w)
assert np.allclose(got, x @ w, rtol=1e-3)
got = run("""func.func @f(%x: tensor<32x48xf32>) -> tensor<32x48xf32> {
  %e = tensor.empty() : tensor<32x48xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<32x48xf32>) outs(%e : tensor<32x48xf32>)
     -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32> }""", x)
e = np.exp(x)
assert np.allclose(got, e / e.sum(1, keepdims=True), rtol=1e-4)
got = run("""func.func @f(%x: tensor<32x48xf32>) -> tensor<32xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1]
     : (tensor<32x48xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32> }""", x)
assert np.allclose(got, x.sum(1), rtol=1e-4)
print("IREE: ok")
