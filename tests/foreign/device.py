"""Runs PTX on NumPy arrays through cuda.bindings: what the tests of compilers share."""
import ctypes
import unittest

import numpy as np
from cuda.bindings import driver


def call(function, *args):
    """A function of the driver: what it gives, or an error."""
    result, *values = function(*args)
    if result != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{function.__name__}: {result.name}")
    return values[0] if len(values) == 1 else values


class TensorMap:
    """Says that an array is passed as a tensor map of boxes."""

    def __init__(self, array, box, swizzle):
        self.array, self.box, self.swizzle = array, box, swizzle

    def encode(self, pointer):
        """The map; its dimensions are innermost first.

        It must lie at a multiple of 64, which objects of cuda.bindings do not.
        """
        array, rank = self.array, self.array.ndim
        kinds = driver.CUtensorMapDataType
        kind = {1: kinds.CU_TENSOR_MAP_DATA_TYPE_UINT8, 2: kinds.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                4: kinds.CU_TENSOR_MAP_DATA_TYPE_FLOAT32}[array.itemsize]
        room = np.zeros(128 + 64, np.uint8)
        self.bytes = room[-room.ctypes.data % 64:][:128]
        sizes = np.array(array.shape[::-1], np.uint64)
        strides = np.array(array.strides[-2::-1], np.uint64)
        box, steps = np.array(self.box[::-1], np.uint32), np.ones(rank, np.uint32)
        at = [ctypes.c_void_p(v.ctypes.data) for v in (self.bytes, sizes, strides, box, steps)]
        result = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
            at[0], int(kind), rank, ctypes.c_void_p(pointer), *at[1:], 0, self.swizzle, 0, 0)
        if result:
            raise RuntimeError(f"cuTensorMapEncodeTiled: {driver.CUresult(result).name}")
        return self.bytes.ctypes.data


class DeviceTest(unittest.TestCase):
    """A test whose kernels run on a simulated GPU of compute capability `sm`."""

    sm = 80

    def setUp(self):
        call(driver.cuInit, 0)
        devices = [call(driver.cuDeviceGet, k) for k in range(call(driver.cuDeviceGetCount))]
        self.device = [d for d in devices if self.capability(d) == self.sm][0]
        call(driver.cuCtxSetCurrent, call(driver.cuDevicePrimaryCtxRetain, self.device))

    @staticmethod
    def capability(device):
        kinds = driver.CUdevice_attribute
        major, minor = (call(driver.cuDeviceGetAttribute, kind, device) for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
        return 10 * major + minor

    def launch(self, ptx, name, grid, block, shared, *args, cluster=1):
        """Launches a kernel and brings the arrays among its arguments back.

        Arrays and None are pointers, int is s32, float is f32, a ctypes value is itself.
        """
        module = call(driver.cuModuleLoadData, np.char.array(ptx.encode() + b"\0"))
        function = call(driver.cuModuleGetFunction, module, name.encode())
        largest = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if shared > 48 << 10:
            call(driver.cuFuncSetAttribute, function, largest, shared)
        arrays, pointers = {}, {}
        for arg in args:
            array = arg.array if isinstance(arg, TensorMap) else arg
            if isinstance(array, np.ndarray) and id(array) not in arrays:
                self.assertTrue(array.flags.c_contiguous)
                arrays[id(array)] = array
                pointer = pointers[id(array)] = call(driver.cuMemAlloc, array.nbytes)
                call(driver.cuMemcpyHtoD, pointer, array.ctypes.data, array.nbytes)
        values, kept = [], []
        for arg in args:
            if isinstance(arg, TensorMap):
                values.append(arg.encode(int(pointers[id(arg.array)])))
                continue
            if isinstance(arg, np.ndarray) or arg is None:
                arg = ctypes.c_uint64(0 if arg is None else int(pointers[id(arg)]))
            elif isinstance(arg, (int, float)):
                arg = ctypes.c_int32(arg) if isinstance(arg, int) else ctypes.c_float(arg)
            kept.append(arg)
            values.append(ctypes.addressof(arg))
        params = (ctypes.c_void_p * max(1, len(values)))(*values)
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared
        if cluster > 1:
            wide = driver.CUlaunchAttribute()
            wide.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            wide.value.clusterDim.x, wide.value.clusterDim.y = cluster, 1
            wide.value.clusterDim.z = 1
            config.attrs, config.numAttrs = [wide], 1
        call(driver.cuLaunchKernelEx, config, function, ctypes.addressof(params), 0)
        call(driver.cuCtxSynchronize)
        for key, array in arrays.items():
            call(driver.cuMemcpyDtoH, array.ctypes.data, pointers[key], array.nbytes)
            call(driver.cuMemFree, pointers[key])
        call(driver.cuModuleUnload, module)
