"""The CUDA driver through ctypes: memory, streams, events; and the clocks through NVML.

Works on the primary context, so what is made here can be mixed with a framework's own tensors and
streams.  $ROLLER_LIBCUDA names another library, the simulated driver for instance."""
import ctypes
import os
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ubyte, c_uint64, c_void_p

ATTRIBUTES = {"sms": 16, "clock_khz": 13, "memory_clock_khz": 36, "bus_bits": 37, "l2_bytes": 38,
              "cc_major": 75, "cc_minor": 76, "smem_per_block_optin": 97}
NON_BLOCKING = 1
CALLS = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [c_void_p],
    "cuDeviceGetCount": [c_void_p],
    "cuDeviceGet": [c_void_p, c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDeviceGetUuid": [c_void_p, c_int],
    "cuDeviceTotalMem_v2": [c_void_p, c_int],
    "cuDeviceGetAttribute": [c_void_p, c_int, c_int],
    "cuDevicePrimaryCtxRetain": [c_void_p, c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuMemAlloc_v2": [c_void_p, c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuMemsetD8Async": [c_uint64, c_ubyte, c_size_t, c_void_p],
    "cuModuleLoadData": [c_void_p, c_char_p],
    "cuModuleGetFunction": [c_void_p, c_void_p, c_char_p],
    "cuLaunchKernel": [c_void_p] + [c_uint] * 7 + [c_void_p] * 3,
    "cuStreamCreate": [c_void_p, c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuEventCreate": [c_void_p, c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventSynchronize": [c_void_p],
    "cuEventElapsedTime": [c_void_p, c_void_p, c_void_p],
}


class CudaError(Exception):
    """A call of the driver failed; `code` is the driver's."""

    def __init__(self, call, code, name):
        super().__init__(f"{call}: {name} ({code})")
        self.code = code


class Cuda:
    def __init__(self, device=0, path=None):
        self.lib = ctypes.CDLL(path or os.environ.get("ROLLER_LIBCUDA") or "libcuda.so.1")
        for name, types in CALLS.items():
            getattr(self.lib, name).argtypes = types
        self.call("cuInit", 0)
        self.device = self._get(c_int, "cuDeviceGet", device)
        context = self._get(c_void_p, "cuDevicePrimaryCtxRetain", self.device)
        self.call("cuCtxSetCurrent", context)
        self.simulated = hasattr(self.lib, "roller_sim_driver_message")

    def call(self, name, *arguments):
        code = getattr(self.lib, name)(*arguments)
        if code:
            text = c_char_p()
            self.lib.cuGetErrorName(c_int(code), byref(text))
            raise CudaError(name, code, (text.value or b"unknown").decode())

    def _get(self, kind, name, *arguments):
        value = kind()
        self.call(name, byref(value), *arguments)
        return value.value

    # ---- the device ----
    def info(self):
        name, uuid = ctypes.create_string_buffer(128), (c_ubyte * 16)()
        self.call("cuDeviceGetName", name, 128, self.device)
        found = {"name": name.value.decode(), "driver": self._get(c_int, "cuDriverGetVersion"),
                 "simulated": self.simulated,
                 "memory_bytes": self._get(c_size_t, "cuDeviceTotalMem_v2", self.device)}
        for key, number in ATTRIBUTES.items():
            found[key] = self._get(c_int, "cuDeviceGetAttribute", number, self.device)
        self.call("cuDeviceGetUuid", uuid, self.device)
        text = bytes(uuid).hex()
        self.uuid = "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        return found

    # ---- memory ----
    def alloc(self, size):
        return self._get(c_uint64, "cuMemAlloc_v2", max(size, 1))

    def free(self, at):
        self.call("cuMemFree_v2", at)

    def write(self, to, data):
        self.call("cuMemcpyHtoD_v2", to, bytes(data), len(data))

    def read(self, at, size):
        data = ctypes.create_string_buffer(max(size, 1))
        self.call("cuMemcpyDtoH_v2", data, at, size)
        return data.raw[:size]

    def fill(self, at, byte, size, stream=None):
        self.call("cuMemsetD8Async", at, byte, size, stream)

    # ---- kernels ----
    def kernel(self, ptx, name):
        module = self._get(c_void_p, "cuModuleLoadData", ptx)
        return self._get(c_void_p, "cuModuleGetFunction", module, name.encode())

    def launch(self, kernel, blocks, threads, stream, *values):
        at = (c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, stream, at, None)

    # ---- order and time ----
    def stream(self):
        return self._get(c_void_p, "cuStreamCreate", NON_BLOCKING)

    def event(self):
        return self._get(c_void_p, "cuEventCreate", 0)

    def record(self, event, stream):
        self.call("cuEventRecord", event, stream)

    def elapsed_us(self, begin, end):
        self.call("cuEventSynchronize", end)
        return self._get(c_float, "cuEventElapsedTime", begin, end) * 1e3

    def synchronize(self):
        self.call("cuCtxSynchronize")


class Nvml:
    """Clocks, temperature and power as NVML tells them; empty where it does not."""

    def __init__(self, uuid):
        self.handle = None
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
            handle = c_void_p()
            if not self.lib.nvmlInit_v2() and not self.lib.nvmlDeviceGetHandleByUUID(
                    uuid.encode(), byref(handle)):
                self.handle = handle
        except (OSError, AttributeError):
            pass

    def state(self):
        found = {}
        if self.handle is None:
            return found
        for key, name, what in (("sm_mhz", "nvmlDeviceGetClockInfo", 1),
                                ("memory_mhz", "nvmlDeviceGetClockInfo", 2),
                                ("celsius", "nvmlDeviceGetTemperature", 0)):
            value = c_uint()
            if not getattr(self.lib, name)(self.handle, what, byref(value)):
                found[key] = value.value
        power = c_uint()
        if not self.lib.nvmlDeviceGetPowerUsage(self.handle, byref(power)):
            found["watts"] = power.value / 1e3
        return found
