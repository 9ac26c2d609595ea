"""Artifacts in this process: the runtime's C library (tilewright/tilewright_runtime.h) through ctypes.

A launch takes addresses of device memory and a stream of whoever made them: `tensor.data_ptr()` and
`torch.cuda.current_stream().cuda_stream` of PyTorch are such, since both use the device's primary context.
"""

import ctypes

POINTER, INTEGER, STATUS = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int


class Failure(RuntimeError):
    """What the library says of a call that failed."""


class Error(ctypes.Structure):
    _fields_ = [("status", STATUS), ("message", ctypes.c_char * 1020)]


class Argument(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("element_bytes", INTEGER), ("rank", ctypes.c_size_t),
                ("is_written", ctypes.c_int), ("is_result", ctypes.c_int)]


def reference(kind):
    return ctypes.POINTER(kind)


#: Functions of the header: result and arguments; those that return a status take a tw_error behind these.
CALLS = {
    "tw_artifact_open": (STATUS, ctypes.c_char_p, reference(POINTER)),
    "tw_artifact_close": (None, POINTER),
    "tw_artifact_target": (ctypes.c_char_p, POINTER),
    "tw_artifact_program": (POINTER, POINTER, ctypes.c_char_p),
    "tw_program_arguments": (ctypes.c_size_t, POINTER),
    "tw_program_sizes": (ctypes.c_size_t, POINTER),
    "tw_program_argument": (STATUS, POINTER, ctypes.c_size_t, reference(Argument)),
    "tw_program_shape": (STATUS, POINTER, ctypes.c_size_t, reference(INTEGER), reference(INTEGER), reference(INTEGER)),
    "tw_program_bytes": (STATUS, POINTER, ctypes.c_size_t, reference(INTEGER), reference(INTEGER)),
    "tw_program_workspace": (STATUS, POINTER, reference(INTEGER), reference(INTEGER)),
    "tw_device_open": (STATUS, ctypes.c_char_p, ctypes.c_int, reference(POINTER)),
    "tw_device_close": (None, POINTER),
    "tw_device_name": (ctypes.c_char_p, POINTER),
    "tw_device_allocate": (STATUS, POINTER, INTEGER, reference(POINTER)),
    "tw_device_release": (None, POINTER, POINTER),
    "tw_device_copy_in": (STATUS, POINTER, POINTER, POINTER, INTEGER),
    "tw_device_copy_out": (STATUS, POINTER, POINTER, POINTER, INTEGER),
    "tw_device_wait": (STATUS, POINTER, POINTER),
    "tw_module_load": (STATUS, POINTER, POINTER, reference(POINTER)),
    "tw_module_unload": (None, POINTER),
    "tw_launch": (STATUS, POINTER, POINTER, reference(INTEGER), reference(POINTER), POINTER, POINTER),
    "tw_timer_create": (STATUS, POINTER, reference(POINTER)),
    "tw_timer_destroy": (None, POINTER),
    "tw_timer_start": (STATUS, POINTER, POINTER),
    "tw_timer_stop": (STATUS, POINTER, POINTER, reference(ctypes.c_double)),
}


class Library:
    """The library; `library.launch(..)` is tw_launch, and a status that is not 0 a Failure with its message."""

    def __init__(self, path):
        try:
            self.handle = ctypes.CDLL(str(path))
        except OSError as problem:
            raise Failure(str(problem)) from None
        for name, (result, *arguments) in CALLS.items():
            function = getattr(self.handle, name)
            function.restype = result
            function.argtypes = [*arguments, reference(Error)] if result is STATUS else arguments
            setattr(self, name.removeprefix("tw_"), self.checked(function) if result is STATUS else function)

    @staticmethod
    def checked(function):
        def call(*arguments):
            error = Error()
            if function(*arguments, ctypes.byref(error)):
                raise Failure(error.message.decode())
        return call


def got(function, kind, *arguments):
    """What `function` writes to its last argument."""
    value = kind()
    function(*arguments, ctypes.byref(value))
    return value.value


class Device:
    """One device of a target: memory, and clocks of its own on the default stream or another."""

    def __init__(self, library, target, ordinal=0):
        self.library = library
        self.handle = got(library.device_open, POINTER, target.encode(), ordinal)
        self.timer = got(library.timer_create, POINTER, self.handle)
        self.name = library.device_name(self.handle).decode()

    def array(self, data):
        """Address of a copy of `data` (bytes)."""
        address = got(self.library.device_allocate, POINTER, self.handle, max(1, len(data)))
        if data:
            buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
            self.library.device_copy_in(self.handle, address, buffer, len(data))
        return address

    def bytes_of(self, address, count):
        buffer = (ctypes.c_char * count)()
        self.library.device_copy_out(self.handle, buffer, address, count)
        return buffer.raw

    def release(self, address):
        self.library.device_release(self.handle, address)

    def wait(self, stream=None):
        self.library.device_wait(self.handle, stream)

    def seconds(self, work, stream=None):
        """Of everything that `work()` puts on the stream."""
        self.library.timer_start(self.timer, stream)
        work()
        return got(self.library.timer_stop, ctypes.c_double, self.timer, stream)

    def close(self):
        self.library.timer_destroy(self.timer)
        self.library.device_close(self.handle)


class Program:
    """The only program of an artifact, of constant sizes, loaded on a device."""

    def __init__(self, device, path):
        self.device, self.library = device, device.library
        self.artifact = got(self.library.artifact_open, POINTER, str(path).encode())
        self.program = self.library.artifact_program(self.artifact, None)
        if not self.program:
            raise Failure(f"'{path}' has more than one program")
        if self.library.program_sizes(self.program):
            raise Failure(f"'{path}' has dynamic sizes")
        self.module = got(self.library.module_load, POINTER, self.device.handle, self.artifact)
        self.arguments = []  # (type, shape, bytes, whether it is an output) of each
        for i in range(self.library.program_arguments(self.program)):
            argument = Argument()
            self.library.program_argument(self.program, i, ctypes.byref(argument))
            shape = (INTEGER * argument.rank)()
            self.library.program_shape(self.program, i, None, shape, None)
            self.arguments.append((argument.type.decode(), tuple(shape),
                                   got(self.library.program_bytes, INTEGER, self.program, i, None),
                                   bool(argument.is_result)))

    def workspace(self):
        """Bytes of memory for temporaries."""
        return got(self.library.program_workspace, INTEGER, self.program, None)

    def call(self, addresses, workspace=None, stream=None):
        """A function that puts one call on the stream; `addresses`: of all arguments in order."""
        if len(addresses) != len(self.arguments):
            raise Failure(f"{len(addresses)} arrays for {len(self.arguments)} arguments")
        arrays = (POINTER * len(addresses))(*addresses)
        launch, module, program = self.library.launch, self.module, self.program
        return lambda: launch(module, program, None, arrays, workspace, stream)

    def close(self):
        self.library.module_unload(self.module)
        self.library.artifact_close(self.artifact)
